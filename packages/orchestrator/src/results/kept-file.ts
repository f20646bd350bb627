import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { McpResult } from '@signalbox/protocol';
import type { BlockPlace } from './result-documents.ts';
import type { TextMarks } from './text-marks.ts';

/** One document of a kept result. Its marks are those of `marksOf`. */
export interface KeptDocument {
  bytes: number;
  lines: number;
  marks: TextMarks;
}

/** The description of a kept result. In the file it precedes the text and the JSON. */
export interface KeptHeader {
  id: string;
  agent: string;
  requestId: string;
  role: string;
  tool: string;
  minter?: string | undefined;
  /** Set if this is the answer to a read of a resource. */
  resource?: { server: string; uri: string } | undefined;
  /** The times when it was kept and when it may be deleted, in milliseconds during which the store was open. */
  keptAt: number;
  expiresAt: number;
  text: KeptDocument;
  json: KeptDocument;
  blocks: BlockPlace[];
  /** The answer that the caller got. */
  preview: McpResult;
}

const format = 'signalbox-result 1';
/** The length of the first line in bytes. It is fixed, so that the line can be read at once. */
const firstLineBytes = 48;
const longestHeader = 16 * 1024 * 1024;

/** Makes the parts of a file, in their order. */
export function keptFileParts(header: KeptHeader, documents: { text: Buffer; json: Buffer }): Buffer[] {
  const body = Buffer.from(JSON.stringify(header));
  const first = Buffer.from(`${`${format} ${body.length} ${crc32(body)}`.padEnd(firstLineBytes - 1)}\n`);
  return [first, body, documents.text, documents.json];
}

/** The places of the documents in a file, in bytes. */
export interface KeptPlaces {
  text: number;
  json: number;
  end: number;
}

/** Reads the header of a file; `undefined` if the file is damaged. */
export async function readKeptHeader(
  handle: FileHandle,
): Promise<{ header: KeptHeader; places: KeptPlaces } | undefined> {
  const first = await readAt(handle, 0, firstLineBytes);
  const [, length, checksum] =
    /^signalbox-result 1 (\d{1,9}) (\d{1,10}) *\n$/.exec(first.toString('latin1')) ?? [];
  if (length === undefined || Number(length) > longestHeader) return undefined;
  const body = await readAt(handle, firstLineBytes, Number(length));
  if (crc32(body) !== Number(checksum)) return undefined;
  const header = JSON.parse(body.toString()) as KeptHeader;
  const text = firstLineBytes + Number(length);
  const json = text + header.text.bytes;
  const end = json + header.json.bytes;
  return (await handle.stat()).size === end ? { header, places: { text, json, end } } : undefined;
}

/** Reads some bytes of a file, or fewer at its end. */
export async function readAt(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await handle.read(buffer, read, length - read, at + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return buffer.subarray(0, read);
}
