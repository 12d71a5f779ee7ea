# To be used first by a test that wants to drop packets, or to mount something:
# runs it anew in namespaces of its own for users, mounts and the network, in
# which any user may do that. $OwnNamespaces::entered says whether that worked;
# some systems do not allow it. The only network then is the loopback interface.
package OwnNamespaces;

use strict;
use warnings;

our $entered;

# Before PostgreSQL::Test::Utils diverts the output: when it is imported.
sub import
{
	my @unshare = qw(unshare --user --map-current-user --keep-caps --mount --net sh -c);
	my $prepare = 'PATH=$PATH:/usr/sbin:/sbin; ip link set lo up';

	if (!defined $ENV{EXCHANGE_NAMESPACES})
	{
		$ENV{EXCHANGE_NAMESPACES} = system(@unshare, "($prepare && mount -t tmpfs none /mnt) >/dev/null 2>&1") == 0 ? 1 : 0;
		exec(@unshare, "$prepare && exec \"\$@\"", 'sh', $^X, (map { "-I$_" } @INC), $0) if $ENV{EXCHANGE_NAMESPACES};
	}
	$entered = $ENV{EXCHANGE_NAMESPACES};
	return;
}

1;
