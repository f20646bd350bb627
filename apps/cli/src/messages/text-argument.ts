import { SignalboxError } from '@signalbox/protocol';

/** Far more than a broker accepts: the limit keeps an endless input from filling the memory. */
const maxBytes = 64 * 1024 * 1024;

/** Returns the argument, or for `-` the text of standard input without its last line end. Rejects with `usage` for other data. */
export async function textArgument(
  argument: string,
  input: AsyncIterable<Buffer | string> = process.stdin,
): Promise<string> {
  return argument === '-' ? (await readText(input)).replace(/\r?\n$/, '') : argument;
}

async function readText(input: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const buffer = Buffer.from(chunk);
    bytes += buffer.length;
    if (bytes > maxBytes) throw unusable(`is longer than ${maxBytes / 1024 / 1024} MiB`);
    chunks.push(buffer);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw unusable('is no UTF-8 text');
  }
}

function unusable(why: string): SignalboxError {
  return new SignalboxError('usage', `what standard input brings ${why}, so nothing was sent`, {
    details: { hint: 'a message is a text; put other data into a file and send its path' },
  });
}
