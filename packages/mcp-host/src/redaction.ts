import type { McpServerConfig } from './config.ts';

/** Shorter values are words and numbers, not secrets; replacing them would garble the text. */
const shortestSecret = 6;

/** Takes the values of a server's environment, headers and URL credentials out of texts about that server. */
export function redactor(config: McpServerConfig): (text: string) => string {
  const secrets = [...new Set(secretsOf(config))]
    .filter((secret) => secret.length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
}

function secretsOf(config: McpServerConfig): string[] {
  if (config.type === 'stdio') return Object.values(config.env ?? {});
  const headers = Object.values(config.headers ?? {}).flatMap((value) => [value, ...value.split(' ')]);
  const url = URL.parse(config.url);
  if (!url) return headers;
  return [...headers, config.url, url.username, url.password, ...url.searchParams.values()];
}
