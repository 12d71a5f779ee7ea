# A proxy that does harm on command, between two nodes (fault_proxy.py, which
# says what it can do).
package FaultProxy;

use strict;
use warnings;

use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Utils;

my @proxies;

# A proxy before a node that listens on 127.0.0.1.
sub new
{
	my ($class, $node) = @_;
	my $self = bless { in => '', out => '' }, $class;
	$self->{run} = IPC::Run::start([ 'python3', dirname(__FILE__) . '/fault_proxy.py', $node->port ],
		'<', \$self->{in}, '>', \$self->{out},
		$self->{timeout} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$self->{port} = $self->_answer;
	push @proxies, $self;
	return $self;
}

sub port
{
	my ($self) = @_;
	return $self->{port};
}

# Give a command; returns the answer.
sub ask
{
	my ($self, $command) = @_;
	$self->{in} .= "$command\n";
	return $self->_answer;
}

sub harm { my ($self, @words) = @_; return $self->ask("harm @words"); }
sub heal { my ($self) = @_; return $self->ask('heal'); }

sub _answer
{
	my ($self) = @_;
	$self->{timeout}->start;
	$self->{run}->pump until $self->{out} =~ /\n/;
	$self->{timeout}->reset;
	$self->{out} =~ s/^(.*)\n// or die;
	return $1;
}

END
{
	local $?;
	$_->{run}->kill_kill for @proxies;
}

1;
