import type { WebhookReport } from '@signalbox/client/operator';
import { isLoopback } from '@signalbox/protocol';

/** Says how to set up the sender of a webhook. The secret is named and never shown. */
export function setupLines({ name, signature, urls }: WebhookReport): string[] {
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
