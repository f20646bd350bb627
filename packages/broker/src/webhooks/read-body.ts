import type { IncomingMessage } from 'node:http';

/** Reads the body of a request, and calls `onPiece` for each piece, which returns the milliseconds until the next one is read. */
export function readBody(
  request: IncomingMessage,
  { max, onPiece }: { max: number; onPiece: (piece: Buffer) => number },
): Promise<Buffer | 'too_large' | 'gone'> {
  if (Number(request.headers['content-length'] ?? 0) > max) return Promise.resolve('too_large');
  const { promise, resolve } = Promise.withResolvers<Buffer | 'too_large' | 'gone'>();
  let pieces: Buffer[] = [];
  let length = 0;
  let pause: NodeJS.Timeout | undefined;
  const end = (result: Buffer | 'too_large' | 'gone'): void => {
    clearTimeout(pause);
    request.off('data', take);
    pieces = [];
    resolve(result);
  };
  const take = (piece: Buffer): void => {
    length += piece.length;
    if (length > max) {
      end('too_large');
      return;
    }
    pieces.push(piece);
    const waitMs = onPiece(piece);
    if (waitMs === 0) return;
    request.pause();
    pause = setTimeout(() => request.resume(), waitMs);
  };
  request.on('data', take);
  request.once('end', () => end(Buffer.concat(pieces, length)));
  // The client has left, or was too slow.
  request.once('close', () => end('gone'));
  return promise;
}
