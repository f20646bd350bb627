/** The smallest picture there is: one pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

export const image = { type: 'image', data: png.toString('base64'), mimeType: 'image/png' } as const;

export const audio = { type: 'audio', data: silence().toString('base64'), mimeType: 'audio/wav' } as const;

export function text(words: string) {
  return { type: 'text', text: words } as const;
}

export function embedded(uri: string, mimeType: string, words: string) {
  return { type: 'resource', resource: { uri, mimeType, text: words } } as const;
}

/** A WAV file of no length: 8-bit mono at 8 kHz. */
function silence(): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  return head;
}
