# A server that speaks the protocol and lies at one moment (forged_server.py,
# which says what it can do).
package ForgedServer;

use strict;
use warnings;

use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Utils;

my @servers;

sub new
{
	my ($class) = @_;
	my $self = bless { in => '', out => '' }, $class;
	$self->{run} = IPC::Run::start([ 'python3', dirname(__FILE__) . '/forged_server.py' ],
		'<', \$self->{in}, '>', \$self->{out},
		$self->{timeout} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$self->{port} = $self->_answer;
	push @servers, $self;
	return $self;
}

# For add_server.
sub host { return '127.0.0.1'; }
sub port { my ($self) = @_; return $self->{port}; }

# Give a command; returns the answer.
sub ask
{
	my ($self, $command) = @_;
	$self->{in} .= "$command\n";
	return $self->_answer;
}

sub lie { my ($self, @words) = @_; return $self->ask("lie @words"); }

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
	$_->{run}->kill_kill for @servers;
}

1;
