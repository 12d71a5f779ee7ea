/*-------------------------------------------------------------------------
 *
 * genuine.h
 *		Whether a remote's exchange.* functions are those of the extension.
 *
 * A user who may create a schema in the remote's database could make a schema
 * "exchange" with functions of our names.  We would call them with the rights
 * of the user that we log in as.  So nothing in that schema is called, or even
 * parsed (an immutable function would be called while planning), before the
 * remote's catalogs have said that it belongs to the extension.
 *
 * The SQL below names only objects of pg_catalog, and each with its schema,
 * operators and types included.  So no search_path makes it call anything
 * else.  Only a superuser can create a function in C, or make an object a
 * member of an extension that another user owns.
 *
 * Tables are read with the transaction's snapshot, which may be older than a
 * DROP EXTENSION.  pg_identify_object() looks at what is there now: for a
 * function that was dropped since, it does not return the signature, even if
 * another one has its name now.  A function that its owner has replaced keeps
 * its oid.  pg_get_functiondef() then does not say that it is in C: its last
 * line, AS and what follows, cannot be imitated, because no body contains the
 * quotes around itself.
 *
 * A call of a function that was found to be genuine has to give each argument
 * its exact type, as in exchange.hello($1::pg_catalog.text): then no other
 * function of that name can be preferred.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_GENUINE_H
#define PX_CONN_GENUINE_H

/*
 * Why they are not: what PX_GENUINE_FAULT returns, and EXPLAIN shows; the last
 * one is found before (conn/dynamic.h).
 */
#define PX_REMOTE_LACKS_EXTENSION	"remote has no pg_exchange"
#define PX_REMOTE_IS_IMPOSTOR \
	"remote has functions of pg_exchange's names that are not pg_exchange's"
#define PX_REMOTE_IS_TOO_OLD		"remote's pg_exchange is too old"
#define PX_REMOTE_IS_FORBIDDEN		"remote user may not use pg_exchange"
#define PX_REMOTE_IS_RESTRICTED		"remote user may not read the catalogs"

/* Why they are not any more. */
#define PX_REMOTE_HAS_CHANGED \
	"remote's pg_exchange is gone, or not the extension's any more"

#define PX_EQ	" OPERATOR(pg_catalog.=) "

/*
 * What a function is, by its oid, without quotes: with quote_all_identifiers
 * there would be more of them.
 */
#define PX_IDENTITY(function) \
	"(SELECT pg_catalog.translate(i.identity, '\"', '')" \
	" FROM pg_catalog.pg_identify_object(1255, " function ", 0) i)"

#define PX_EXTENSION_IS_THERE \
	"EXISTS (SELECT FROM pg_catalog.pg_extension x" \
	" WHERE x.extname" PX_EQ "'pg_exchange')"

/* Has the schema a function of that name? */
#define PX_FUNCTION_IS_THERE(name) \
	"EXISTS (SELECT FROM pg_catalog.pg_namespace s, pg_catalog.pg_proc f" \
	" WHERE s.nspname" PX_EQ "'exchange'" \
	" AND f.pronamespace" PX_EQ "s.oid" \
	" AND f.proname" PX_EQ "'" name "')"

/*
 * May the user not use the schema, or call one of its functions?  Those in C
 * count, because only a superuser makes them; reset_stats() is for few.
 */
#define PX_USE_IS_FORBIDDEN \
	"EXISTS (SELECT FROM pg_catalog.pg_namespace s, pg_catalog.pg_proc f" \
	" WHERE s.nspname" PX_EQ "'exchange'" \
	" AND f.pronamespace" PX_EQ "s.oid AND f.prolang" PX_EQ "13" \
	" AND f.proname OPERATOR(pg_catalog.<>) 'reset_stats'" \
	" AND NOT (pg_catalog.has_schema_privilege(s.oid, 'USAGE')" \
	" AND pg_catalog.has_function_privilege(f.oid, 'EXECUTE')))"

/*
 * Conditions: e is the extension, and the schema of its functions is its own
 * and may be used.
 */
#define PX_IS_OWN_EXTENSION \
	"e.extname" PX_EQ "'pg_exchange'" \
	" AND (SELECT n.nspname" PX_EQ "'exchange'" \
	" AND (n.nspowner" PX_EQ "e.extowner" \
	" OR pg_catalog.pg_has_role(n.nspowner, 10::pg_catalog.oid, 'MEMBER'))" \
	" AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')" \
	" FROM pg_catalog.pg_namespace n WHERE n.oid" PX_EQ "e.extnamespace)"

/*
 * d makes a function a member of e, it is one of these, and genuine.  Most
 * members are others: that is found before what takes longer.
 */
#define PX_IS_GENUINE_MEMBER(functions) \
	"d.refclassid" PX_EQ "3079 AND d.refobjid" PX_EQ "e.oid" \
	" AND d.deptype" PX_EQ "'e' AND d.classid" PX_EQ "1255" \
	" AND d.objsubid" PX_EQ "0 AND (SELECT p.prolang" PX_EQ "13" \
	" AND p.probin" PX_EQ "'$libdir/pg_exchange'" \
	" AND NOT p.prosecdef AND p.proconfig IS NULL" \
	" AND (" PX_IDENTITY("p.oid") \
	" OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) p.prosrc)" \
	PX_EQ "ANY (ARRAY[" functions "])" \
	" AND pg_catalog.right(pg_catalog.pg_get_functiondef(p.oid)," \
	" pg_catalog.length(p.prosrc) OPERATOR(pg_catalog.+) 47)" PX_EQ \
	"('AS ''$libdir/pg_exchange'', $function$' OPERATOR(pg_catalog.||)" \
	" p.prosrc OPERATOR(pg_catalog.||) '$function$'" \
	" OPERATOR(pg_catalog.||) pg_catalog.chr(10))" \
	" AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')" \
	" FROM pg_catalog.pg_proc p WHERE p.oid" PX_EQ "d.objid)"

/*
 * A boolean expression: all of these functions (a list of strings, and their
 * number) are members of the extension pg_exchange, written in C in its
 * library, without settings or another user's rights of their own; they and
 * their schema may be used by the current user; and nobody else can take their
 * place at any time: the schema is that of the extension's owner, or of a
 * superuser (pg_upgrade changes the one, but not the other).  Never raises an
 * error.
 *
 * 1255 and 3079 are the oids of pg_proc and pg_extension, 13 is that of the
 * language C, and 10 that of the first superuser, whose role all superusers
 * have.  (Not everybody may read pg_roles.)
 */
#define PX_ARE_GENUINE(functions, number) \
	"EXISTS (SELECT FROM pg_catalog.pg_extension e" \
	" WHERE " PX_IS_OWN_EXTENSION \
	" AND (SELECT pg_catalog.count(*) FROM pg_catalog.pg_depend d" \
	" WHERE " PX_IS_GENUINE_MEMBER(functions) ")" PX_EQ number ")"

/* The functions that a coordinator calls, or has called, to read. */
#define PX_READ_FUNCTIONS \
	"'exchange.hello(pg_catalog.text) px_sql_hello', " \
	"'exchange.send(pg_catalog.text,pg_catalog.record) px_sql_send', " \
	"'exchange.send_text(pg_catalog.text,pg_catalog.record)" \
	" px_sql_send_text', " \
	"'exchange.send_support(pg_catalog.internal) px_sql_send_support', " \
	"'exchange.admit(pg_catalog.text,pg_catalog.text,boolean)" \
	" px_sql_admit', " \
	"'exchange.in_filter(pg_catalog.bytea,bigint)" \
	" px_sql_in_filter_int8', " \
	"'exchange.in_filter(pg_catalog.bytea,pg_catalog.bytea)" \
	" px_sql_in_filter_bytea', " \
	"'exchange.in_filter(pg_catalog.bytea,pg_catalog.text)" \
	" px_sql_in_filter_text', " \
	"'exchange.may_match_support(pg_catalog.internal)" \
	" px_sql_may_match_support', " \
	"'exchange.has_type(pg_catalog.record,integer)" \
	" px_sql_has_type', " \
	"'exchange.may_match(pg_catalog.record,integer)" \
	" px_sql_may_match'"

#define PX_READ_FUNCTIONS_NUMBER	"11"

#define PX_IS_GENUINE \
	PX_ARE_GENUINE(PX_READ_FUNCTIONS, PX_READ_FUNCTIONS_NUMBER)

/*
 * The same for the functions to write: with 1.0, or with a 1.1 whose SQL
 * objects are those of 1.0, there are none.
 */
#define PX_WRITE_FUNCTIONS \
	"'exchange.describe(pg_catalog.text,pg_catalog.text)" \
	" px_sql_describe', " \
	"'exchange.apply(pg_catalog.text,pg_catalog.text,pg_catalog.text)" \
	" px_sql_apply', " \
	"'exchange.unpack(pg_catalog.text) px_sql_unpack', " \
	"'exchange.unpack(pg_catalog.text,double precision[])" \
	" px_sql_unpack', " \
	"'exchange.unpack_support(pg_catalog.internal)" \
	" px_sql_unpack_support'"

#define PX_CAN_WRITE	PX_ARE_GENUINE(PX_WRITE_FUNCTIONS, "5")

/* The same for all that a fragment calls, and what is asked before it. */
#define PX_CAN_JOIN \
	PX_ARE_GENUINE(PX_READ_FUNCTIONS ", " PX_WRITE_FUNCTIONS, "16")

/* The same for the function that frames are deposited by. */
#define PX_CAN_DEPOSIT \
	PX_ARE_GENUINE( \
		"'exchange.deposit(pg_catalog.bytea) px_sql_deposit'", "1")

/* The same for the functions that a join by HashPartition calls. */
#define PX_INBOX_FUNCTIONS \
	"'exchange.fill_inbox(pg_catalog.bytea) px_sql_fill_inbox', " \
	"'exchange.inbox(integer,double precision[]) px_sql_inbox', " \
	"'exchange.inbox_support(pg_catalog.internal)" \
	" px_sql_inbox_support', " \
	"'exchange.partition_number(integer,pg_catalog.any)" \
	" px_sql_partition_number'"

#define PX_CAN_REPARTITION	PX_ARE_GENUINE(PX_INBOX_FUNCTIONS, "4")

/* The same for those by which servers of such a join pull rows. */
#define PX_PULL_FUNCTIONS \
	"'exchange.can_pull(pg_catalog.text,integer) px_sql_can_pull', " \
	"'exchange.collect(pg_catalog.text,integer) px_sql_collect', " \
	"'exchange.offer(pg_catalog.text) px_sql_offer', " \
	"'exchange.pull(pg_catalog.text) px_sql_pull'"

#define PX_CAN_PULL	PX_ARE_GENUINE(PX_PULL_FUNCTIONS, "4")

#define PX_CAN_JOIN_BY_INBOX \
	PX_ARE_GENUINE(PX_READ_FUNCTIONS ", " PX_WRITE_FUNCTIONS ", " \
				   PX_INBOX_FUNCTIONS, "20")

/*
 * A text expression: null if genuine, one of the above, else one of the
 * phrases above.  newest is the last one of its functions that came into the
 * extension.  Never raises an error.
 */
#define PX_FAULT(genuine, newest) \
	"CASE WHEN " genuine " THEN NULL" \
	" WHEN NOT " PX_EXTENSION_IS_THERE \
	" AND NOT " PX_FUNCTION_IS_THERE("hello") \
	" THEN '" PX_REMOTE_LACKS_EXTENSION "'" \
	" WHEN NOT " PX_EXTENSION_IS_THERE \
	" THEN $px$" PX_REMOTE_IS_IMPOSTOR "$px$" \
	" WHEN NOT " PX_FUNCTION_IS_THERE(newest) \
	" THEN $px$" PX_REMOTE_IS_TOO_OLD "$px$" \
	" WHEN " PX_USE_IS_FORBIDDEN \
	" THEN '" PX_REMOTE_IS_FORBIDDEN "'" \
	" ELSE $px$" PX_REMOTE_IS_IMPOSTOR "$px$ END"

#define PX_GENUINE_FAULT	PX_FAULT(PX_IS_GENUINE, "may_match")
#define PX_WRITE_FAULT		PX_FAULT(PX_CAN_WRITE, "describe")

/*
 * A boolean expression that raises an error (22P02) unless PX_IS_GENUINE: in
 * a pipeline, nothing after it is then even parsed.  The message ends in the
 * fault in double quotes, whatever language the rest of it is in.  Null
 * otherwise.
 */
#define PX_REQUIRE_GENUINE \
	"CAST(" PX_GENUINE_FAULT " AS pg_catalog.bool)"

/*
 * An integer expression that raises an error (22012) unless a boolean one is
 * true.
 */
#define PX_REQUIRE(condition) \
	"1 OPERATOR(pg_catalog./) CASE WHEN " condition " THEN 1 ELSE 0 END"

/*
 * The same unless PX_IS_GENUINE.  It does not say why: that is planned in a
 * third of the time.
 */
#define PX_REQUIRE_STILL_GENUINE	PX_REQUIRE(PX_IS_GENUINE)

/* The same unless PX_CAN_REPARTITION. */
#define PX_REQUIRE_CAN_REPARTITION	PX_REQUIRE(PX_CAN_REPARTITION)

/* The same unless PX_CAN_PULL. */
#define PX_REQUIRE_CAN_PULL		PX_REQUIRE(PX_CAN_PULL)

/* The same unless PX_CAN_DEPOSIT. */
#define PX_REQUIRE_CAN_DEPOSIT		PX_REQUIRE(PX_CAN_DEPOSIT)

#endif							/* PX_CONN_GENUINE_H */
