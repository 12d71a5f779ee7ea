# A program of test/peers that listens on a port of 127.0.0.1, which it prints,
# and takes commands (protocol.py): a proxy that does harm, a forged server.
# Each program says what it can do.
package Peer;

use strict;
use warnings;

use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Utils;

my @peers;

# Start a program, by its name without extension.
sub new
{
	my ($class, $program, @arguments) = @_;
	my $self = bless { in => '', out => '' }, $class;
	my $path = dirname(__FILE__) . "/../peers/$program.py";
	my $seconds = $PostgreSQL::Test::Utils::timeout_default;
	$self->{timeout} = IPC::Run::timeout($seconds);
	$self->{run} = IPC::Run::start([ 'python3', $path, @arguments ],
		'<', \$self->{in}, '>', \$self->{out}, $self->{timeout});
	$self->{port} = $self->_answer;
	push @peers, $self;
	return $self;
}

# For add_server.
sub host { return '127.0.0.1'; }
sub port { my ($self) = @_; return $self->{port}; }

# Give a command; returns the answer.
sub tell
{
	my ($self, @words) = @_;
	$self->{in} .= "@words\n";
	return $self->_answer;
}

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
	$_->{run}->kill_kill for @peers;
}

1;
