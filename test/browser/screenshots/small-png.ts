import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Writes a picture of a browser with a palette of 256 colours, which takes a third of the room: rare colours become the most similar one.
 */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const palette = mostFrequent(pixels);
  const numbers = new Map(palette.map((colour, number) => [colour, number]));
  const rows = Buffer.alloc((width + 1) * height);
  for (const [at, colour] of pixels.entries()) {
    let number = numbers.get(colour);
    if (number === undefined) {
      number = nearest(palette, colour);
      numbers.set(colour, number);
    }
    rows[at + Math.floor(at / width) + 1] = number;
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap(partsOf))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function mostFrequent(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const inOrder = [...counts].sort(([, a], [, b]) => b - a);
  return inOrder.slice(0, 256).map(([colour]) => colour);
}

function nearest(palette: readonly number[], colour: number): number {
  const parts = partsOf(colour);
  const distances = palette.map((one) =>
    partsOf(one).reduce((sum, part, at) => sum + (part - parts[at]!) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

function partsOf(colour: number): number[] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

/** Reads a picture with 8 bits a part, without interlacing: what a browser writes. */
function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const data: Buffer[] = [];
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const parts = png[25] === 6 ? 4 : 3;
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * parts;
  const pixels = new Uint32Array(width * height);
  let before = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    const row = Buffer.from(raw.subarray(start + 1, start + 1 + stride));
    unfilter(raw[start]!, row, { before, parts });
    for (let x = 0; x < width; x++) pixels[y * width + x] = row.readUIntBE(x * parts, 3);
    before = row;
  }
  return { width, height, pixels };
}

/** Undoes the filter of a row, as the PNG specification names them. */
function unfilter(kind: number, row: Buffer, { before, parts }: { before: Buffer; parts: number }): void {
  for (let at = 0; at < row.length; at++) {
    const left = at < parts ? 0 : row[at - parts]!;
    const corner = at < parts ? 0 : before[at - parts]!;
    const up = before[at]!;
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][kind]!;
    row[at] = (row[at]! + guess) & 255;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [toLeft, toUp, toCorner] = [left, up, corner].map((one) => Math.abs(guess - one)) as [
    number,
    number,
    number,
  ];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function chunk(kind: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const out = Buffer.alloc(named.length + 8);
  out.writeUInt32BE(data.length, 0);
  named.copy(out, 4);
  out.writeUInt32BE(crc32(named), named.length + 4);
  return out;
}
