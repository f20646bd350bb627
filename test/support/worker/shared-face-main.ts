import { processFaults } from '@signalbox/testing';
import { serveSharedFace } from '@signalbox/worker/internal';

/** Runs a shared face in a process of its own. argv: the path of its socket, the url of the broker and optionally `taskAfterMs`. */
const [path, url, taskAfterMs] = process.argv.slice(2);
const fault = processFaults();
const face = await serveSharedFace({
  path: path!,
  connect: { url: url!, fault },
  face: { version: '1.2.3', ...(taskAfterMs !== undefined && { taskAfterMs: Number(taskAfterMs) }) },
});
process.on('disconnect', () => void face.close());
process.send!('ready');
