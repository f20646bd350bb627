import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { WebSocketServer } from 'ws';
import { serveParent, setupOf } from '../processes.ts';

/**
 * The bare parts of a broker without our code: a WebSocket server that parses a frame and sends it back, and a table whose rows are
 * inserted and deleted in fsynced commits of 64.
 */
const { dir } = setupOf<{ dir: string }>();
const frames = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
await once(frames, 'listening');
frames.on('connection', (socket) => {
  socket.on('message', (frame) => socket.send(JSON.stringify(JSON.parse(`${frame}`))));
});

const db = new Database(join(dir, 'raw.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec('CREATE TABLE message (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)');
const insert = db.prepare('INSERT INTO message (body) VALUES (?)');
const remove = db.prepare('DELETE FROM message WHERE seq = ?');
const body = randomBytes(225).toString('base64');
const batch = 64;
const comeAndGo = (): void => {
  const seqs = db.transaction(() => Array.from({ length: batch }, () => insert.run(body).lastInsertRowid))();
  db.transaction(() => {
    for (const seq of seqs) remove.run(seq);
  })();
};

serveParent({
  facts: { url: `ws://127.0.0.1:${(frames.address() as { port: number }).port}` },
  obey: async (order) => {
    const { count } = order as { count: number };
    const began = performance.now();
    for (let done = 0; done < count; done += batch) comeAndGo();
    return performance.now() - began;
  },
  stop: async () => {
    for (const socket of frames.clients) socket.terminate();
    frames.close();
    db.close();
  },
});
