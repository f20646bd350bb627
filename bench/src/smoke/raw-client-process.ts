import { once } from 'node:events';
import { WebSocket } from 'ws';
import { serveParent, setupOf } from '../processes.ts';
import { repeat } from './repeat.ts';

/** Sends frames of 300 bytes to the raw server and takes them back. */
const { url } = setupOf<{ url: string }>();
const socket = new WebSocket(url, { perMessageDeflate: false });
await once(socket, 'open');
const waiting: (() => void)[] = [];
socket.on('message', (frame) => {
  JSON.parse(`${frame}`);
  waiting.shift()!();
});
const text = 'x'.repeat(280);
let numbered = 0;
const echo = (): Promise<void> => {
  socket.send(JSON.stringify({ n: numbered++, text }));
  return new Promise((resolve) => waiting.push(resolve));
};
serveParent({
  obey: (order) => repeat(echo, (order as { count: number }).count),
  stop: async () => socket.terminate(),
});
