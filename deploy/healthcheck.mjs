import { request } from 'node:http';
import { join } from 'node:path';

// Exits with 0 if the broker of a data directory is ready, else with 1 and the reason. It asks over the Unix socket, so that neither
// the port nor its certificate matters: node healthcheck.mjs [DATA DIRECTORY]
const socketPath = join(process.argv[2] ?? '/var/lib/signalbox', 'broker.sock');

const fail = (reason) => {
  process.stderr.write(`${reason}\n`);
  process.exitCode = 1;
};

request({ socketPath, path: '/readyz', timeout: 4000 }, async (response) => {
  const answer = (await response.toArray()).join('').slice(0, 500);
  if (response.statusCode !== 200) fail(`not ready: ${answer}`);
})
  .on('timeout', function () {
    this.destroy(new Error('no answer within 4 s'));
  })
  .on('error', (error) => fail(error.message))
  .end();
