import { listWebhooks, type WebhookReport } from '@signalbox/client/operator';
import { isLoopback, SignalboxError } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { suggestion } from '@signalbox/protocol/internal';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { count, factLines, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';

/** The options of `signalbox hooks list` and `signalbox hooks show`. */
export interface HooksFlags extends ConnectionFlags {
  json?: boolean;
}

/** Lists the webhooks of a broker. */
export async function listHooks(flags: HooksFlags): Promise<void> {
  const hooks = await withClient(flags, ({ client }) => listWebhooks(client));
  if (flags.json) return printJson({ hooks });
  if (hooks.length === 0) {
    return printLines('the broker has no webhooks; name them under hooks in signalbox.yaml');
  }
  const rows = hooks.map(({ name, to, kind, delivered_at, stored, repeated, refused }) => [
    name,
    to,
    kind,
    delivered_at === undefined ? '-' : ago(delivered_at),
    String(stored),
    String(repeated),
    String(refused),
  ]);
  printLines(
    ...tableLines(['NAME', 'TO', 'KIND', 'LAST DELIVERY', 'STORED', 'REPEATED', 'REFUSED'], rows),
    '',
    `${count(hooks.length, 'webhook')}, counted since the broker started; set one up with: signalbox hooks show NAME`,
  );
}

/** Shows the addresses of one webhook, what came in by it, and what to enter at its sender. */
export async function showHook(name: string, flags: HooksFlags): Promise<void> {
  const hooks = await withClient(flags, ({ client }) => listWebhooks(client));
  const hook = hooks.find((one) => one.name === name);
  if (!hook) throw unknownHook(name, hooks);
  if (flags.json) return printJson({ hook });
  printLines(...factLines(facts(hook)), '', ...setupLines(hook));
}

function facts({ name, to, kind, signature, urls, ...counts }: WebhookReport): [string, string][] {
  const { stored, repeated, refused, delivered_at, last_refusal } = counts;
  const last = delivered_at === undefined ? '' : `, the last ${ago(delivered_at)}`;
  return [
    ['webhook', name],
    ['sends', `${kind} to ${to}, from hook.${name}`],
    ['signature', signature],
    ...urls.map((url): [string, string] => ['address', url]),
    ['came in', `${stored} stored, ${repeated} repeated${last}; ${refused} refused`],
    ...refusalFacts(last_refusal),
  ];
}

function refusalFacts(last: WebhookReport['last_refusal']): [string, string][] {
  return last ? [['refused last', `${ago(last.at)}: ${oneLine(last.reason, 200)}`]] : [];
}

function unknownHook(name: string, hooks: readonly WebhookReport[]): SignalboxError {
  const names = hooks.map((hook) => hook.name);
  return new SignalboxError('usage', `the broker has no webhook '${name}'${suggestion(name, names)}`, {
    details: { hint: 'list them: signalbox hooks list   (a new one is read at SIGHUP or a restart)' },
  });
}

function ago(at: number): string {
  return `${formatDuration(Date.now() - at)} ago`;
}

/** Says how to set up the sender of a webhook. The secret is named and never shown. */
function setupLines({ name, signature, urls }: WebhookReport): string[] {
  const url = urls[0] ?? '';
  return [...stepsOf(signature, url, `hooks.${name}.secret`), ...reachLines(url)];
}

function stepsOf(signature: WebhookReport['signature'], url: string, secret: string): string[] {
  switch (signature) {
    case 'github':
      return [
        'At GitHub: Settings, Webhooks, Add webhook (of a repository or an organization)',
        `  Payload URL    ${url}`,
        '  Content type   application/json',
        `  Secret         the value of ${secret}`,
        '  Events         only those that the agent should see',
        'GitHub sends a ping at once; signalbox hooks list then counts it.',
      ];
    case 'standard':
      return [
        'At a sender that speaks Standard Webhooks, add an endpoint',
        `  URL      ${url}`,
        `  Secret   the one it shows, which begins with whsec_, is the value of ${secret}`,
      ];
    case 'bearer':
      return [
        `Any program can send, with the value of ${secret} in SECRET:`,
        `  curl -H "Authorization: Bearer $SECRET" -H "Idempotency-Key: build-17" -d 'it is done' ${url}`,
        'A delivery is stored once for each Idempotency-Key, and each time without one.',
      ];
  }
}

function reachLines(url: string): string[] {
  const host = URL.parse(url)?.hostname;
  if (host === undefined || !isLoopback(host)) return [];
  return [
    '',
    'Only this machine reaches that address. For senders elsewhere put a proxy or a tunnel in front of it, and name its',
    'origin in broker.trustedOrigins, so that it is shown here.',
  ];
}
