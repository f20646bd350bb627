import { startMcpHost } from '@signalbox/mcp-host';
import { counterServer } from '@signalbox/testing';

/** A host in a process of its own, so that it can be killed. Prints the process id of its one server. */
const host = startMcpHost({ servers: { counter: counterServer(process.argv[2]!) } });
await host.inventory();
process.stdout.write(`${host.servers()[0]!.pid}\n`);
