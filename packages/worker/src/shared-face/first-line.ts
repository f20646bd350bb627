import type { Socket } from 'node:net';

const lineFeed = 10;

/**
 * Reads the first line of a connection and leaves the rest unread, paused. Returns `undefined` if the connection is closed before it
 * is complete, it takes longer than `timeoutMs`, or it has more than `maxBytes`.
 */
export function firstLine(
  socket: Socket,
  { maxBytes, timeoutMs, signal }: { maxBytes: number; timeoutMs: number; signal: AbortSignal },
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (line: string | undefined) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onClose);
      socket.off('data', onData).off('close', onClose);
      socket.pause();
      resolve(line);
    };
    const onClose = () => end(undefined);
    const onData = (chunk: Buffer) => {
      const at = chunk.indexOf(lineFeed);
      const own = at < 0 ? chunk : chunk.subarray(0, at);
      bytes += own.length;
      if (bytes > maxBytes) return end(undefined);
      chunks.push(own);
      if (at < 0) return;
      end(Buffer.concat(chunks).toString('utf8'));
      if (at + 1 < chunk.length) socket.unshift(chunk.subarray(at + 1));
    };
    const timer = setTimeout(() => end(undefined), timeoutMs);
    socket.on('data', onData).once('close', onClose);
    signal.addEventListener('abort', onClose, { once: true });
    if (signal.aborted) onClose();
  });
}
