import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tokenFileText } from '@signalbox/protocol';
import { connectWire, lastingPort, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { isInstalled } from '../support/cli/completion.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const deploy = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url));

function promtool(args: readonly string[], input?: string) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

test.skipIf(!isInstalled('promtool'))(
  'promtool finds nothing wrong with the alerts, the example and a scrape.',
  async () => {
    expect(promtool(['check', 'rules', join(deploy, 'alerts.yml')])).toMatchObject({ status: 0 });
    expect(promtool(['check', 'config', '--syntax-only', join(deploy, 'prometheus.yml')])).toMatchObject({
      status: 0,
    });
    await using stack = await startToolStack({ broker: { metrics: 'open' }, reportEveryMs: 50 });
    await using reader = await stack.executor('rita', 'reader');
    await reader.execute({ name: 'mcp_counter__echo', arguments: { text: 'x' } });
    const scrape = async () => await (await fetch(`http://127.0.0.1:${stack.broker.port}/metrics`)).text();
    await expect.poll(scrape).toContain('outcome="ok"');
    expect(promtool(['check', 'metrics'], await scrape())).toEqual({ status: 0, said: '' });
  },
);

test.skipIf(!isInstalled('prometheus'))(
  'Prometheus scrapes a busy broker with the token of an observer, and evaluates every alert.',
  async () => {
    await using directory = await tempDir();
    await using stack = await startToolStack({ reportEveryMs: 50 });
    const { broker } = stack;
    const observer = await broker.broker.issueToken({ agent: 'operator.metrics', role: 'observer' });
    const tokenFile = join(directory.path, 'token');
    const issuedFile = join(directory.path, 'metrics.token');
    await writeFile(issuedFile, tokenFileText({ token: observer.token, url: broker.url }));
    // As the example says.
    const head = spawnSync('head', ['-n', '1', issuedFile], { encoding: 'utf8' });
    await writeFile(tokenFile, head.stdout);
    const alerts = await readFile(join(deploy, 'alerts.yml'), 'utf8');
    await writeFile(join(directory.path, 'alerts.yml'), alerts);
    const config = (await readFile(join(deploy, 'prometheus.yml'), 'utf8'))
      .replaceAll('15s', '1s')
      .replaceAll('/etc/prometheus/signalbox-metrics.token', tokenFile)
      .replace('127.0.0.1:7420', `127.0.0.1:${broker.port}`);
    await writeFile(join(directory.path, 'prometheus.yml'), config);
    const port = await lastingPort();
    const args = [
      `--config.file=${directory.path}/prometheus.yml`,
      `--storage.tsdb.path=${directory.path}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    const prometheus = spawn('prometheus', args, { stdio: 'ignore' });
    const ended = once(prometheus, 'exit');
    try {
      await using alice = await connectWire(broker.url, {
        agent: 'alice',
        token: await broker.token('alice'),
      });
      let sent = 0;
      const api = async (path: string) => {
        // Each question comes with a burst of messages: the broker is scraped under load.
        for (const last = sent + 200; sent < last; sent++)
          alice.send({ type: 'deliver', to: 'alice', id: `m${sent}`, kind: 'note' }, '{}');
        const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => undefined);
        return response ? JSON.stringify(await response.json()) : '';
      };
      const query = (text: string) => api(`query?query=${encodeURIComponent(text)}`);
      await expect.poll(() => query('up{job="signalbox"} == 1')).toContain('"value":[');
      await expect
        .poll(() => query('signalbox_messages_stored_total{kind="note"} > 200'))
        .toContain('"value":[');
      await expect.poll(() => query('signalbox_server_state{state="ready"}')).toContain('counter');
      const count = alerts.match(/- alert:/g)?.length ?? 0;
      const evaluated = async () => (await api('rules')).match(/"health":"ok"/g)?.length;
      await expect.poll(evaluated).toBe(count);
    } finally {
      prometheus.kill();
      await ended;
    }
  },
);
