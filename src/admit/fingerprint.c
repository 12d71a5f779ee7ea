/*-------------------------------------------------------------------------
 *
 * fingerprint.c
 *		The fingerprint of a session.
 *
 * The fingerprint includes all settings, except a few that differ between two
 * sessions of the same coordinator by design and that have no influence on the
 * rows of a query.  Settings that have their built-in default are left out,
 * too: they may be unknown in another session, where the library that defines
 * them is not loaded.
 *
 * The hashes of the settings are added up, so their order does not matter.
 *
 * Everybody may call exchange.admit, which returns the fingerprint.  But some
 * settings are visible to superusers only, such as primary_conninfo with its
 * password.  Somebody who knows all other settings could test guesses against
 * the sum.  So the fingerprint is a SHA-256 of the sum and a secret of the
 * server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_control.h"
#include "common/cryptohash.h"
#include "common/hashfn.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"

#include "admit/session.h"
#include "compat.h"
#include "conn/hello_self.h"

/* Settings that may differ.  A name that ends with * is a prefix. */
static const char *const differing_settings[] = {
	"application_name",
	"client_connection_check_interval",
	"idle_in_transaction_session_timeout",
	"idle_session_timeout",
	"in_hot_standby",
	"is_superuser",				/* follows from the users, which count */
	"lock_timeout",
	"pg_exchange.*",
	"role",
	"seed",						/* only for random(), which is volatile */
	"session_authorization",
	"tcp_*",
	"transaction_*"
};

static bool
matches(const char *name, const char *pattern)
{
	size_t		n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return strncmp(name, pattern, n - 1) == 0;
	return strcmp(name, pattern) == 0;
}

static bool
may_differ(const char *name)
{
	for (size_t i = 0; i < lengthof(differing_settings); i++)
	{
		if (matches(name, differing_settings[i]))
			return true;
	}
	return false;
}

/* Does the setting have its built-in default? */
static bool
has_boot_value(struct config_generic *setting)
{
	switch (setting->vartype)
	{
		case PGC_BOOL:
			return *PX_SETTING(bool, setting)->variable ==
				PX_SETTING(bool, setting)->boot_val;
		case PGC_INT:
			return *PX_SETTING(int, setting)->variable ==
				PX_SETTING(int, setting)->boot_val;
		case PGC_REAL:
			return *PX_SETTING(real, setting)->variable ==
				PX_SETTING(real, setting)->boot_val;
		case PGC_ENUM:
			return *PX_SETTING(enum, setting)->variable ==
				PX_SETTING(enum, setting)->boot_val;
		case PGC_STRING:
			{
				const char *value = *PX_SETTING(string, setting)->variable;
				const char *boot = PX_SETTING(string, setting)->boot_val;

				return strcmp(value ? value : "", boot ? boot : "") == 0;
			}
	}
	return false;
}

static uint64
hash(const char *text, uint64 seed)
{
	return hash_bytes_extended((const unsigned char *) text,
							   (int) strlen(text), seed);
}

/*
 * The value of a setting as text: in buffer[cap], or in memory of the setting.
 */
static const char *
setting_text(struct config_generic *setting, char *buffer, size_t cap)
{
	switch (setting->vartype)
	{
		case PGC_BOOL:
			return *PX_SETTING(bool, setting)->variable ? "on" : "off";
		case PGC_INT:
			snprintf(buffer, cap, "%d", *PX_SETTING(int, setting)->variable);
			return buffer;
		case PGC_REAL:
			snprintf(buffer, cap, "%.17g", *PX_SETTING(real, setting)->variable);
			return buffer;
		case PGC_ENUM:
			return px_enum_setting_name(setting);
		case PGC_STRING:
			{
				struct config_string *string = PX_SETTING(string, setting);

				if (string->show_hook)
					return string->show_hook();
				return *string->variable ? *string->variable : "";
			}
	}
	return "";
}

/*
 * The hash of a setting's name and value.  postgres_fdw's SET search_path
 * stores a name in quotes if quote_all_identifiers is on, a stream's does not.
 */
static uint64
hash_setting(struct config_generic *setting)
{
	char		buffer[64];
	const char *text = setting_text(setting, buffer, sizeof(buffer));

	if (strcmp(text, "\"pg_catalog\"") == 0)
		text = "pg_catalog";
	return hash(text, hash(setting->name, 0));
}

/* Hash the sum with a secret, so that everybody may see the result. */
static uint64
hash_with_secret(uint64 sum)
{
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	uint64		fingerprint;
	pg_cryptohash_ctx *sha = pg_cryptohash_create(PG_SHA256);

	if (sha == NULL || pg_cryptohash_init(sha) < 0 ||
		pg_cryptohash_update(sha, (const uint8 *) GetMockAuthenticationNonce(),
							 MOCK_AUTH_NONCE_LEN) < 0 ||
		pg_cryptohash_update(sha, (const uint8 *) &sum, sizeof(sum)) < 0 ||
		pg_cryptohash_final(sha, digest, sizeof(digest)) < 0)
	{
		pg_cryptohash_free(sha);
		elog(ERROR, "could not compute the fingerprint of a session");
	}
	pg_cryptohash_free(sha);
	memcpy(&fingerprint, digest, sizeof(fingerprint));
	return fingerprint;
}

uint64
px_session_fingerprint(void)
{
	px_hello	self;
	uint64		sum;
	int			n;
	struct config_generic **settings = px_settings(&n);

	px_hello_self(&self);
	sum = hash(self.instance, MyDatabaseId);
	sum = hash(GetUserNameFromId(GetSessionUserId(), false), sum);
	sum = hash(GetUserNameFromId(GetUserId(), false), sum);
	for (int i = 0; i < n; i++)
	{
		if (!has_boot_value(settings[i]) && !may_differ(settings[i]->name))
			sum += hash_setting(settings[i]);
	}
	return hash_with_secret(sum);
}
