import { crc32 } from 'node:zlib';

/** Returns the checksum of a row: CRC-32 over its values. It detects accidents; it does not protect from somebody who writes the file. */
export function rowChecksum(...values: readonly (string | number | null)[]): number {
  return crc32(values.join('\u0000'));
}
