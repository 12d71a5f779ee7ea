/*-------------------------------------------------------------------------
 *
 * fingerprint.c
 *		What tells a session from another.
 *
 * All settings count, but for a few that two sessions of the same coordinator
 * have differently by design, and that have no influence on any answer.  A
 * setting that has the value it was compiled with does not count: it may be
 * unknown in another session, because the library that has it is not loaded
 * there.
 *
 * The sum of hashes does not depend on the order of the settings.
 *
 * Anybody may ask for the fingerprint, and among the settings are some that
 * only superusers may see, as primary_conninfo with its password.  Whoever
 * knows the others could try guesses at one against the sum.  So what is shown
 * is a SHA-256 of it with a secret of the server.
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

/* Settings that may differ; those that end with * by their beginning. */
static const char *const may_differ[] = {
	"application_name",
	"client_connection_check_interval",
	"idle_in_transaction_session_timeout",
	"idle_session_timeout",
	"in_hot_standby",
	"is_superuser",				/* the users count */
	"lock_timeout",
	"pg_exchange.*",
	"role",
	"seed",						/* random() is volatile */
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
is_free(const char *name)
{
	for (size_t i = 0; i < lengthof(may_differ); i++)
	{
		if (matches(name, may_differ[i]))
			return true;
	}
	return false;
}

/* Has a setting the value that it was compiled with? */
static bool
is_as_compiled(struct config_generic *setting)
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

/* A setting's value in words, in a buffer or in the setting's own memory. */
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

/* What of a setting counts: its name and its value. */
static uint64
hash_setting(struct config_generic *setting)
{
	char		buffer[64];

	return hash(setting_text(setting, buffer, sizeof(buffer)),
				hash(setting->name, 0));
}

/* What a sum becomes for all to see. */
static uint64
conceal(uint64 sum)
{
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	uint64		shown;
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
	memcpy(&shown, digest, sizeof(shown));
	return shown;
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
		if (!is_as_compiled(settings[i]) && !is_free(settings[i]->name))
			sum += hash_setting(settings[i]);
	}
	return conceal(sum);
}
