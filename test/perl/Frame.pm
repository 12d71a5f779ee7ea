# Frames made by hand, as doc/wire.md has them, so that a test can make wrong
# ones.  Every function takes what is to differ from a right one as an option.
package Frame;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(SCHEMA BATCH LAST SLICE PLAN crc32c align frame schema batch end_of slice stream chunk packed child recrc);

use constant { SCHEMA => 1, BATCH => 2, LAST => 3, SLICE => 4, PLAN => 5 };

my @crc_table = map {
	my $crc = $_;
	$crc = $crc & 1 ? $crc >> 1 ^ 0x82f63b78 : $crc >> 1 for 1 .. 8;
	$crc;
} 0 .. 255;

sub crc32c
{
	my $crc = 0xffffffff;
	$crc = $crc_table[($crc ^ $_) & 255] ^ $crc >> 8 for unpack('C*', $_[0]);
	return $crc ^ 0xffffffff;
}

# Zeros up to a multiple of 8.
sub align
{
	return $_[0] . "\0" x (-length($_[0]) % 8);
}

# A frame.  Options: kind, body, sequence, sender, rows, columns, raw_nbytes, and
# magic, version, choice, reserved, body_nbytes, crc for what is wrong.
sub frame
{
	my (%o) = @_;
	my $header = pack('a4 v C C V V V v v Q< V', $o{magic} // 'PGXF', $o{version} // 1, $o{kind}, $o{choice} // 0,
		$o{sender} // 0, $o{sequence} // 0, $o{rows} // 0, $o{columns} // 0, $o{reserved} // 0, $o{raw_nbytes} // 0,
		$o{body_nbytes} // length($o{body}));
	return $header . pack('V', $o{crc} // crc32c($header . $o{body})) . $o{body};
}

# Make the checksum of a frame right that was changed.
sub recrc
{
	my ($frame) = @_;
	return substr($frame, 0, 36) . pack('V', crc32c(substr($frame, 0, 36) . substr($frame, 40))) . substr($frame, 40);
}

# A schema frame of columns [type oid, class, width, typmod].
sub schema
{
	my ($columns, %o) = @_;
	my $body = join('', map { pack('V l< C C v', $_->[0], $_->[3] // -1, $_->[1], $_->[2], $o{column_reserved} // 0) } @$columns);
	return frame(kind => SCHEMA, columns => scalar @$columns, body => $body, %o);
}

# A chunk.  encoded is its values; stored what the codec makes of them.  Others as
# in the chunk header.
sub chunk
{
	my (%o) = @_;
	my $stored = $o{stored} // $o{encoded};
	my $header = pack('C6 v V4', $o{encoding} // 0, $o{codec} // 0, $o{nulls} // 0, $o{form} // 0, $o{width} // 0, $o{scale} // 0,
		$o{reserved} // 0, $o{nvalues}, $o{encoded_nbytes} // length($o{encoded}), $o{stored_nbytes} // length($stored),
		$o{head_nbytes} // 0);
	return { header => $header, bitmap => $o{bitmap} // '', stored => $stored, plain_nbytes => $o{plain_nbytes} // length($o{encoded} // '') };
}

# A batch frame of chunks.
sub batch
{
	my ($rows, $chunks, %o) = @_;
	my $body = join('', map { $_->{header} } @$chunks);
	my $raw_nbytes = 0;
	for my $chunk (@$chunks)
	{
		$body .= align($chunk->{bitmap}) . align($chunk->{stored});
		$raw_nbytes += 24 + length(align($chunk->{bitmap})) + $chunk->{plain_nbytes} + -$chunk->{plain_nbytes} % 8;
	}
	$body .= $o{trailing} // '';
	return frame(kind => BATCH, rows => $rows, columns => scalar @$chunks, raw_nbytes => $raw_nbytes, sequence => 1, body => $body, %o);
}

# The end frame of a sender's frames.  Options: rows, batches, raw_nbytes,
# wire_nbytes, link_rate, and those of frame by the name of frame_...
sub end_of
{
	my ($frames, %o) = @_;
	my ($rows, $batches, $raw_nbytes, $wire_nbytes) = (0, 0, 0, 0);
	for my $frame (@$frames)
	{
		my ($kind, $of_frame, $raw) = unpack('x6 C x9 V x4 Q<', $frame);
		$wire_nbytes += length($frame);
		next if $kind != BATCH;
		$rows += $of_frame;
		$batches++;
		$raw_nbytes += $raw;
	}
	return frame(kind => LAST, sequence => $o{sequence} // scalar @$frames, sender => $o{sender} // 0,
		body => pack('Q<7', $o{rows} // $rows, $o{batches} // $batches, $o{raw_nbytes} // $raw_nbytes, $o{wire_nbytes} // $wire_nbytes, 0, 0, $o{link_rate} // 0));
}

sub slice
{
	my ($slices, $blocks, $file, $reason, %o) = @_;
	return frame(kind => SLICE, body => pack('V4', $slices, $blocks, $file, $reason), %o);
}

# Frames, and the end frame that they call for.
sub stream
{
	my (@frames) = @_;
	return (@frames, end_of(\@frames));
}

# Values of form bytes, one behind the other.
sub packed
{
	my $bytes = '';
	for my $value (@_)
	{
		if (length($value) <= 126)
		{
			$bytes .= pack('C', (length($value) + 1) * 2 + 1) . $value;
		}
		else
		{
			$bytes .= "\0" x (-length($bytes) % 4) . pack('V', (length($value) + 4) * 4) . $value;
		}
	}
	return $bytes;
}

# A stream of integers inside another encoding.
sub child
{
	my ($encoding, $width, $bytes, %o) = @_;
	return align(pack('C C v V', $encoding, $width, $o{reserved} // 0, $o{nbytes} // length($bytes)) . $bytes);
}

1;
