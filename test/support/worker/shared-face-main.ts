import { processFaults } from '@signalbox/testing';
import { serveSharedFace } from '@signalbox/worker/internal';

/** A shared face as a process of its own: argv is the path of its socket, the url of the broker and, if another than the default, `taskAfterMs`. */
const [path, url, taskAfterMs] = process.argv.slice(2);
const fault = processFaults();
const face = await serveSharedFace({
  path: path!,
  connect: { url: url!, fault },
  face: { version: '1.2.3', ...(taskAfterMs !== undefined && { taskAfterMs: Number(taskAfterMs) }) },
});
process.on('disconnect', () => void face.close());
process.send!('ready');
