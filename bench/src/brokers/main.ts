import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgresServer } from '../peers/postgres-server.ts';
import { underCircumstances } from '../report/benchmarks.ts';
import { brokersTables } from '../report/postgres-sections.ts';
import { asJson, keep } from '../report/record.ts';
import type { BrokersReport } from './brokers-report.ts';
import { measureScale } from './scale.ts';
import { measureTurnover } from './turnover.ts';

const help = `npm run bench:brokers -- [options]
  --inboxes N    inboxes with a message each (100000)
  --agents N     agents at two brokers, one of which is killed (2000); 0 leaves this part out
  --wake-ups N   messages to agents at the same broker, and to agents at the other one (1000)
  --minutes N    has requests answered at full rate for so long, and tells how many dead rows are left (0)
  --json FILE    write every figure as JSON
  --write        replace this section in docs/benchmarks.json and docs/benchmarks.md
`;

const { values } = parseArgs({
  options: {
    inboxes: { type: 'string', default: '100000' },
    agents: { type: 'string', default: '2000' },
    'wake-ups': { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '0' },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const tell = (line: string): void => void process.stderr.write(`${line}\n`);
if (values.help) process.stdout.write(help);
else await measure();

async function measure(): Promise<void> {
  const minutes = Number(values.minutes);
  const section = await underCircumstances(
    { rounds: 1, seconds: minutes * 60 },
    async (): Promise<BrokersReport> => {
      const dir = await mkdtemp(join(tmpdir(), 'signalbox-brokers-'));
      await using opened = new AsyncDisposableStack();
      opened.defer(() => rm(dir, { recursive: true, force: true }));
      const { facts, version: postgres } = opened.use(await startPostgresServer(dir));
      const [inboxes, agents, wakeUps] = [values.inboxes, values.agents, values['wake-ups']].map(Number);
      const scale =
        agents! > 0
          ? await measureScale(facts.url, dir, {
              inboxes: inboxes!,
              agents: agents!,
              wakeUps: wakeUps!,
              tell,
            })
          : undefined;
      const turnover = minutes > 0 ? await measureTurnover(minutes, tell) : undefined;
      return { postgres, ...(scale && { scale }), ...(turnover && { turnover }) };
    },
  );
  process.stdout.write(`${brokersTables(section)}\n`);
  if (values.json) await writeFile(values.json, `${asJson(section)}\n`);
  if (values.write) await keep({ brokers: section });
}
