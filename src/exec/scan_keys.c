/*-------------------------------------------------------------------------
 *
 * scan_keys.c
 *		The keys that an ExchangeLookup has an ExchangeReceive ask for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "exec/scan_keys.h"
#include "transport/transmission.h"

static void
append_condition(StringInfo sql, const List *key, int param)
{
	const Var  *column = list_nth_node(Var, key, PX_SCAN_KEY_COLUMN);
	const Param *keys = list_nth_node(Param, key, PX_SCAN_KEY_OWN);

	appendStringInfo(sql,
					 "exchange.may_match(ROW(c%d, NULL::%s, $%d::%s), %d)",
					 intVal(list_nth(key, PX_SCAN_KEY_POSITION)),
					 px_transmission_type(column->vartype, -1), param,
					 px_transmission_type(keys->paramtype, -1),
					 column->vartypmod);
}

void
px_scan_keys_begin(px_receive_state *state, List *keys)
{
	int			ncolumns = list_length(lsecond(state->foreign->fdw_private));
	StringInfoData sql;
	ListCell   *lc;

	state->keys = keys;
	if (keys == NIL)
		return;
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT * FROM (%s) k(", state->remote_sql);
	for (int i = 1; i <= ncolumns; i++)
		appendStringInfo(&sql, "%sc%d", i > 1 ? ", " : "", i);
	appendStringInfoChar(&sql, ')');
	state->params = list_copy(state->params);
	foreach(lc, keys)
	{
		const List *key = lfirst_node(List, lc);

		state->params = lappend(state->params,
								list_nth(key, PX_SCAN_KEY_OWN));
		appendStringInfoString(&sql, foreach_current_index(lc) > 0 ?
							   " AND " : " WHERE ");
		append_condition(&sql, key, list_length(state->params));
	}
	state->remote_sql = sql.data;
}

/* ---------------------------------------------------------------------
 * Encodings
 * --------------------------------------------------------------------- */

/* Converts strings of this database to another encoding. */
typedef struct key_conversion
{
	Oid			proc;			/* InvalidOid: bytes stay as they are */
	int			encoding;
} key_conversion;

static bool
can_convert(const key_conversion *conversion, const char *bytes, int nbytes)
{
	char	   *buffer;
	int			cap;
	int			done;

	if (!OidIsValid(conversion->proc))
		return pg_verify_mbstr(conversion->encoding, bytes, nbytes, true);

	/* A longer one has no place in a parameter. */
	if (nbytes > (int) MaxAllocSize / MAX_CONVERSION_GROWTH - 1)
		return true;
	cap = nbytes * MAX_CONVERSION_GROWTH + 1;
	buffer = palloc(cap);
	done = pg_do_encoding_conversion_buf(
		conversion->proc, GetDatabaseEncoding(), conversion->encoding,
		(unsigned char *) unconstify(char *, bytes), nbytes,
		(unsigned char *) buffer, cap, true);
	pfree(buffer);
	return done == nbytes;
}

static bool
can_represent(const key_conversion *conversion, Oid type, Datum key)
{
	const struct varlena *text;

	if (type == NAMEOID)
		return can_convert(conversion, NameStr(*DatumGetName(key)),
						   (int) strlen(NameStr(*DatumGetName(key))));
	text = PG_DETOAST_DATUM_PACKED(key);
	return can_convert(conversion, VARDATA_ANY(text),
					   (int) VARSIZE_ANY_EXHDR(text));
}

/* The keys that the encoding has. */
static Datum
representable_keys(const key_conversion *conversion, Datum keys)
{
	ArrayType  *array = DatumGetArrayTypeP(keys);
	Oid			type = ARR_ELEMTYPE(array);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *values;
	int			nvalues;
	int			nkept = 0;

	if (type != TEXTOID && type != VARCHAROID && type != BPCHAROID &&
		type != NAMEOID)
		return keys;
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, type, typlen, typbyval, typalign, &values, NULL,
					  &nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		if (can_represent(conversion, type, values[i]))
			values[nkept++] = values[i];
	}
	if (nkept == nvalues)
		return keys;
	return PointerGetDatum(construct_array(values, nkept, type, typlen,
										   typbyval, typalign));
}

/* False if all strings of this database are strings of the other. */
static bool
find_conversion(const char *encoding, key_conversion *conversion)
{
	int			here = GetDatabaseEncoding();

	conversion->encoding = pg_char_to_encoding(encoding);
	if (conversion->encoding < 0 || conversion->encoding == here ||
		conversion->encoding == PG_SQL_ASCII)
		return false;
	conversion->proc = here == PG_SQL_ASCII ? InvalidOid :
		FindDefaultConversionProc(here, conversion->encoding);
	return here == PG_SQL_ASCII || OidIsValid(conversion->proc);
}

void
px_scan_keys_fit(px_receive_state *state, const char *encoding)
{
	ParamExecData *values = state->css.ss.ps.state->es_param_exec_vals;
	key_conversion conversion;
	bool		converts = find_conversion(encoding, &conversion);
	ListCell   *lc;

	foreach(lc, state->keys)
	{
		const List *key = lfirst_node(List, lc);
		const Param *shared = list_nth_node(Param, key, PX_SCAN_KEY_SHARED);
		const Param *own = list_nth_node(Param, key, PX_SCAN_KEY_OWN);

		values[own->paramid] = values[shared->paramid];
		if (converts)
			values[own->paramid].value = representable_keys(
				&conversion, values[shared->paramid].value);
	}
}

void
px_scan_keys_forget(px_receive_state *state)
{
	ParamExecData *values = state->css.ss.ps.state->es_param_exec_vals;
	ListCell   *lc;

	foreach(lc, state->keys)
	{
		const List *key = lfirst_node(List, lc);
		const Param *own = list_nth_node(Param, key, PX_SCAN_KEY_OWN);

		values[own->paramid].value = (Datum) 0;
		values[own->paramid].isnull = true;
	}
}
