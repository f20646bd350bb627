import { processFaults } from '@signalbox/testing';
import { serveSharedFace } from '@signalbox/worker';

/** A shared face as a process of its own: argv is the path of its socket and the url of the broker. */
const [path, url] = process.argv.slice(2);
const fault = processFaults();
const face = await serveSharedFace({
  path: path!,
  connect: { url: url!, fault },
  face: { version: '1.2.3' },
});
process.on('disconnect', () => void face.close());
process.send!('ready');
