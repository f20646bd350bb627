import { readFileSync } from 'node:fs';
import { type OrchestratorMetric, orchestratorMetrics } from '@signalbox/protocol';
import type { MetricInfo } from '@signalbox/serving/monitoring';
import { expect, test } from 'vitest';
import { brokerMetrics } from './broker-metrics.ts';

const read = (path: string): string =>
  readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8').replace(/\r/g, '');
const guide = read('docs/reference/monitoring.md');
const head = '| metric | labels | meaning |\n| --- | --- | --- |\n';

function row({ name, help, labels = [] }: MetricInfo): string {
  return `| \`${name}\` | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |\n`;
}

test('The guide has a table with every metric of a broker, in the words of the scrape.', () => {
  expect(guide).toContain(`${head}${Object.values<MetricInfo>(brokerMetrics).map(row).join('')}\n`);
});

test('The guide has a table with every metric of an orchestrator, in the words of the scrape.', () => {
  const rows = Object.values<OrchestratorMetric>(orchestratorMetrics).map(row);
  expect(guide).toContain(`${head}${rows.join('')}\n`);
});

test('The guide says at each alert what to do.', () => {
  const alerts = [...read('deploy/prometheus/alerts.yml').matchAll(/- alert: (\w+)/g)].map(
    ([, name]) => name!,
  );
  expect(alerts.length).toBeGreaterThan(10);
  for (const name of alerts) expect(guide).toMatch(new RegExp(`^\\| \\\`${name}\\\` \\| .{30,}`, 'm'));
});
