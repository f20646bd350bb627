import { crc32 } from 'node:zlib';

/** The checksum of a row: CRC-32 over its values. It finds accidents; it is no protection from somebody who writes the file. */
export function rowChecksum(...values: readonly (string | number | null)[]): number {
  return crc32(values.join('\u0000'));
}
