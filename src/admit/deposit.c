/*-------------------------------------------------------------------------
 *
 * deposit.c
 *		Deposits: bytes that another session of the same user has brought.
 *
 * Whoever may call exchange.apply may name any segment of shared memory, that
 * of a parallel query for instance.  So nothing in a segment is used before
 * its beginning was found to be that of a deposit, with the secret of the
 * receipt.  Nothing is said about other segments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port.h"
#include "utils/builtins.h"

#include "admit/deposit.h"
#include "compat.h"

extern PGDLLEXPORT Datum px_sql_deposit(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_deposit);

#define MAGIC	UINT64CONST(0x70786465706f7331)

/*
 * The deposit that is being worked on, and the one that is brought meanwhile.
 */
#define DEPOSITS_KEPT	2

/* What a segment begins with. */
typedef struct deposit
{
	uint64		magic;
	uint64		secret[2];
	Oid			userid;
	Oid			databaseid;
	uint64		nbytes;
	uint8		bytes[FLEXIBLE_ARRAY_MEMBER];
} deposit;

/* Those of this session; NULL: none.  The oldest one is replaced next. */
static dsm_segment *kept[DEPOSITS_KEPT];
static int	oldest = 0;

static void
drop_oldest(void)
{
	dsm_segment *segment = kept[oldest];

	kept[oldest] = NULL;
	if (segment)
		dsm_detach(segment);
}

/* ---------------------------------------------------------------------
 * Depositing
 * --------------------------------------------------------------------- */

static void
make_secret(uint64 secret[2])
{
	if (!pg_strong_random(secret, 2 * sizeof(uint64)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random bytes for a deposit")));
}

static px_receipt
keep(const bytea *bytes)
{
	size_t		nbytes = VARSIZE_ANY_EXHDR(bytes);
	dsm_segment *segment;
	deposit    *to;
	px_receipt	receipt;

	make_secret(receipt.secret);
	drop_oldest();
	segment = dsm_create(offsetof(deposit, bytes) + nbytes, 0);
	dsm_pin_mapping(segment);
	kept[oldest] = segment;
	oldest = (oldest + 1) % DEPOSITS_KEPT;

	to = dsm_segment_address(segment);
	to->userid = GetUserId();
	to->databaseid = MyDatabaseId;
	to->nbytes = nbytes;
	memcpy(to->bytes, VARDATA_ANY(bytes), nbytes);
	memcpy(to->secret, receipt.secret, sizeof(receipt.secret));
	to->magic = MAGIC;
	receipt.handle = dsm_segment_handle(segment);
	return receipt;
}

/* exchange.deposit(bytes bytea) returns text */
Datum
px_sql_deposit(PG_FUNCTION_ARGS)
{
	px_receipt	receipt;
	char		buffer[PX_RECEIPT_NBYTES_MAX];
	px_text		text = {buffer, sizeof(buffer), 0};
	Size		nbytes;

	if (PG_ARGISNULL(0))
	{
		for (int i = 0; i < DEPOSITS_KEPT; i++)
		{
			drop_oldest();
			oldest = (oldest + 1) % DEPOSITS_KEPT;
		}
		PG_RETURN_NULL();
	}

	/* Not unpacked yet: memory is not taken for what is refused. */
	nbytes = toast_raw_datum_size(PG_GETARG_DATUM(0)) - VARHDRSZ;
	if (nbytes > PX_DEPOSIT_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("deposit of %zu bytes is too large", nbytes),
				 errdetail("The limit is %d bytes.",
						   PX_DEPOSIT_NBYTES_MAX)));
	receipt = keep(PG_GETARG_BYTEA_PP(0));
	px_receipt_put(&text, &receipt);
	(void) px_text_end(&text);
	PG_RETURN_TEXT_P(cstring_to_text(buffer));
}

/* ---------------------------------------------------------------------
 * Opening
 * --------------------------------------------------------------------- */

/*
 * Is it what the receipt is for?  The secrets are compared in a time that does
 * not depend on where they differ.
 */
static bool
is_deposit(dsm_segment *segment, const px_receipt *receipt)
{
	const deposit *from = dsm_segment_address(segment);
	Size		length = dsm_segment_map_length(segment);

	return length >= offsetof(deposit, bytes) && from->magic == MAGIC &&
		((from->secret[0] ^ receipt->secret[0]) |
		 (from->secret[1] ^ receipt->secret[1])) == 0 &&
		from->userid == GetUserId() && from->databaseid == MyDatabaseId;
}

const uint8_t *
px_deposit_open(const px_receipt *receipt, size_t *nbytes,
				dsm_segment **segment)
{
	dsm_segment *mapped = dsm_find_mapping(receipt->handle);
	bool		is_ours = mapped != NULL;
	const deposit *from;

	*segment = NULL;
	if (mapped == NULL)
		mapped = *segment = dsm_attach(receipt->handle);
	if (mapped == NULL)
		return NULL;
	if (is_deposit(mapped, receipt))
	{
		from = dsm_segment_address(mapped);
		*nbytes = (size_t) from->nbytes;
		if (*nbytes <=
			dsm_segment_map_length(mapped) - offsetof(deposit, bytes))
			return from->bytes;
	}
	if (!is_ours)
		px_deposit_close(mapped);
	*segment = NULL;
	return NULL;
}

void
px_deposit_close(dsm_segment *segment)
{
	if (segment)
		dsm_detach(segment);
}
