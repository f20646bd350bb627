import { startMcpHost } from '@signalbox/mcp-host';
import { counterServer } from '@signalbox/testing';
import { misbehavingServer } from './test-servers.ts';

/**
 * A host in a process of its own, so that it can be killed. Prints the process id of its one server: a counter on the file
 * that is given, or with `--state DIRECTORY` a server that will not go, recorded there.
 */
const [first = '', stateDir = ''] = process.argv.slice(2);
const host = startMcpHost(
  first === '--state'
    ? { servers: { stubborn: misbehavingServer('--stubborn') }, stateDir }
    : { servers: { counter: counterServer(first) } },
);
await host.inventory();
process.stdout.write(`${host.servers()[0]!.pid}\n`);
