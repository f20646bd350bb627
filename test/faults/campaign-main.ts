import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';
import { campaignText, passed } from './campaign-report.ts';
import { holdsPassed, runHoldCampaign } from './hold-campaign.ts';
import { holdText } from './hold-report.ts';
import { runPlans } from './plan.ts';

const usage = `npm run test:faults -- [options]
  --runs N      runs, each with one kill (500)
  --seed N      decides who is killed when, and the calls (1)
  --workers N   workers that call at the same time (3)
  --holds N     holds that are placed and released while broker and orchestrator are killed (30)
  --no-journal  switch the journal off, to see the campaign fail
`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '3' },
    holds: { type: 'string', default: '30' },
    'no-journal': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const [runs = 0, seed = 0, workers = 0, holds = 0] = [
  values.runs,
  values.seed,
  values.workers,
  values.holds,
].map(Number);

if (values.help) {
  process.stdout.write(usage);
} else if (![runs, workers, holds].every((n) => Number.isInteger(n) && n > 0) || !Number.isInteger(seed)) {
  process.stderr.write(
    `--runs, --workers and --holds must be whole numbers above 0, --seed a whole number\n\n${usage}`,
  );
  process.exitCode = 2;
} else {
  const startedAt = performance.now();
  const report = await runCampaign({
    plans: runPlans(seed, workers),
    runs,
    workers,
    journal: !values['no-journal'],
    onRun: (run) => {
      if (run % 25 === 0) process.stderr.write(`run ${run} of ${runs}\n`);
    },
  });
  const held = await runHoldCampaign({ rounds: holds, seed });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  process.stdout.write(`${campaignText(report)}\n\n${holdText(held)}\n\nseed ${seed}, ${seconds} s\n`);
  if (!passed(report) || !holdsPassed(held)) process.exitCode = 1;
}
