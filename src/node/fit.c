/*-------------------------------------------------------------------------
 *
 * fit.c
 *		Values converted to the length of the column that they are for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/primnodes.h"
#include "utils/fmgroids.h"

#include "compat.h"
#include "node/fit.h"

#define NUMERIC_DIGIT_DECIMALS	4

typedef struct fit_column
{
	int			attribute;		/* of the scan tuple, from 0; -1: none */
	NullableDatum constant;		/* the value if there is none */

	/* The function that converts it; no fn_oid: none. */
	FmgrInfo	function;
	Oid			collation;
	Datum		typmod;			/* its second argument */
	Datum		is_explicit;	/* its third argument, if there is one */
	int			length;			/* that the typmod has; numeric: the scale */
	int			decimals;		/* numeric: digits before the point */
} fit_column;

struct px_fit
{
	int			ncolumns;
	fit_column	columns[FLEXIBLE_ARRAY_MEMBER];
};

/* ---------------------------------------------------------------------
 * The target list
 * --------------------------------------------------------------------- */

static bool
take_var(fit_column *column, const Expr *expr)
{
	const Var  *var = (const Var *) expr;

	if (!IsA(var, Var) || var->varattno <= 0)
		return false;
	column->attribute = var->varattno - 1;
	return true;
}

/* A constant integer as second argument, and maybe a Boolean as third. */
static bool
take_arguments(fit_column *column, const List *args)
{
	const Const *typmod = lsecond(args);

	if (!IsA(typmod, Const) || typmod->constisnull ||
		DatumGetInt32(typmod->constvalue) < (int32) VARHDRSZ)
		return false;
	column->typmod = typmod->constvalue;
	column->length = DatumGetInt32(typmod->constvalue) - (int32) VARHDRSZ;
	if (list_length(args) > 2)
	{
		const Const *is_explicit = lthird(args);

		if (!IsA(is_explicit, Const) || is_explicit->constisnull)
			return false;
		column->is_explicit = is_explicit->constvalue;
	}
	return true;
}

static bool
take_function(fit_column *column, const FuncExpr *call)
{
	if (!IsA(call, FuncExpr) ||
		(call->funcid != F_NUMERIC_NUMERIC_INT4 &&
		 call->funcid != F_BPCHAR_BPCHAR_INT4_BOOL &&
		 call->funcid != F_VARCHAR_VARCHAR_INT4_BOOL) ||
		!take_var(column, linitial(call->args)) ||
		!take_arguments(column, call->args))
		return false;
	fmgr_info(call->funcid, &column->function);
	column->collation = call->inputcollid;
	if (call->funcid == F_NUMERIC_NUMERIC_INT4)
	{
		/* As numeric_typmod_precision and numeric_typmod_scale do it. */
		int			precision = (column->length >> 16) & 0xffff;

		column->length = ((column->length & 0x7ff) ^ 1024) - 1024;
		column->decimals = precision - column->length;
	}
	return true;
}

static bool
take_constant(fit_column *column, const Const *constant)
{
	if (!IsA(constant, Const))
		return false;
	column->attribute = -1;
	column->constant.value = constant->constvalue;
	column->constant.isnull = constant->constisnull;
	return true;
}

px_fit *
px_fit_new(const List *tlist)
{
	px_fit	   *fit = palloc0(offsetof(px_fit, columns) +
							  list_length(tlist) * sizeof(fit_column));
	ListCell   *lc;

	foreach(lc, tlist)
	{
		const Expr *expr = lfirst_node(TargetEntry, lc)->expr;
		fit_column *column = &fit->columns[fit->ncolumns++];

		if (!take_var(column, expr) &&
			!take_constant(column, (const Const *) expr) &&
			!take_function(column, (const FuncExpr *) expr))
			return NULL;
	}
	return fit;
}

/* ---------------------------------------------------------------------
 * Values
 * --------------------------------------------------------------------- */

/*
 * Would numeric() return the same value?  Asked of the short form only; see
 * numeric.c of PostgreSQL for it.
 */
static inline bool
numeric_fits(const fit_column *column, const struct varlena *value)
{
	uint16		header;
	int			weight;

	if (VARSIZE_ANY_EXHDR(value) < sizeof(header))
		return false;
	memcpy(&header, VARDATA_ANY(value), sizeof(header));
	if ((header & 0xC000) != 0x8000)
		return false;
	weight = (header & 0x003F) - (header & 0x0040);
	return (header & 0x1F80) >> 7 == column->length &&
		(weight + 1) * NUMERIC_DIGIT_DECIMALS <= column->decimals;
}

/* Is each character one byte?  In any encoding, if no byte is above 127. */
static inline bool
is_ascii(const char *bytes, size_t nbytes)
{
	uint64		all = 0;
	uint64		word;

	for (; nbytes >= sizeof(word); nbytes -= sizeof(word))
	{
		memcpy(&word, bytes, sizeof(word));
		all |= word;
		bytes += sizeof(word);
	}
	for (; nbytes > 0; nbytes--)
		all |= (uint8) *bytes++;
	return (all & UINT64CONST(0x8080808080808080)) == 0;
}

/* Would the function return the same value? */
static inline bool
fits(const fit_column *column, const struct varlena *value)
{
	size_t		nbytes;

	if (VARATT_IS_COMPRESSED(value) || VARATT_IS_EXTERNAL(value))
		return false;
	if (column->function.fn_oid == F_NUMERIC_NUMERIC_INT4)
		return numeric_fits(column, value);

	/* No value has fewer bytes than characters. */
	nbytes = VARSIZE_ANY_EXHDR(value);
	if (column->function.fn_oid == F_VARCHAR_VARCHAR_INT4_BOOL)
		return nbytes <= (size_t) column->length;
	return nbytes == (size_t) column->length &&
		is_ascii(VARDATA_ANY(value), nbytes);
}

TupleTableSlot *
px_fit_row(px_fit *fit, const TupleTableSlot *scan, TupleTableSlot *result)
{
	ExecClearTuple(result);
	for (int i = 0; i < fit->ncolumns; i++)
	{
		fit_column *column = &fit->columns[i];
		int			attribute = column->attribute;
		Datum		value;

		if (attribute < 0)
		{
			result->tts_values[i] = column->constant.value;
			result->tts_isnull[i] = column->constant.isnull;
			continue;
		}
		value = scan->tts_values[attribute];
		result->tts_isnull[i] = scan->tts_isnull[attribute];
		if (OidIsValid(column->function.fn_oid) &&
			!scan->tts_isnull[attribute] &&
			!fits(column, (struct varlena *) DatumGetPointer(value)))
			value = FunctionCall3Coll(&column->function, column->collation,
									  value, column->typmod,
									  column->is_explicit);
		result->tts_values[i] = value;
	}
	return ExecStoreVirtualTuple(result);
}
