import { inheritedSecrets, namesSecret } from '../environment/inherited-variables.ts';
import {
  isSecretName,
  type JudgedValue,
  judgeValue,
  redactorOf,
  withoutCutSecret as withoutCut,
  withTexts,
} from '../redaction/index.ts';
import { type Authorizer, type ServerAuth, secretsOfAuth } from '../server-auth/index.ts';
import type { HttpServerConfig, McpServerConfig, StdioServerConfig } from './server-config.ts';

/** Removes the secrets of a server's configuration from JSON data that it sends. */
export type ResultRedactor = <T>(data: T) => T;

/** A value of a server's configuration, and which parts of it are secrets. `place` is, for example, `env.NAME` or `args[0]`. */
export interface ConfiguredValue extends JudgedValue {
  place: string;
}

/** Returns a function that removes the secrets of a server's configuration from a text. */
export function textRedactor(config: McpServerConfig): (text: string) => string {
  return redactorOf(secretsOfServer(config));
}

/** Returns a function that removes the secrets of a server from its results; `undefined` if it has none, so that they cost nothing. */
export function resultRedactor(
  config: McpServerConfig,
  authorizer: Authorizer | undefined,
): ResultRedactor | undefined {
  const secrets = secretsOfServer(config);
  if (secrets.length === 0 && !authorizer) return undefined;
  const redact = redactorOf(secrets);
  const redactAll = authorizer ? (text: string) => authorizer.redact(redact(text)) : redact;
  return (data) => withTexts(data, redactAll);
}

/** Removes the end of a secret of this server from the beginning of a text that was cut there. */
export function withoutCutSecret(text: string, config: McpServerConfig): string {
  return withoutCut(text, secretsOfServer(config));
}

/** Lists the secrets of a server's configuration. Errors, logs, results and warnings all go by this list. */
export function secretsOfServer(config: McpServerConfig): string[] {
  return judgeServer(config).flatMap(({ secrets }) => secrets);
}

/** Judges the values that a configuration gives to a server. Its command and its directory are settings, and never secrets. */
export function judgeServer(config: McpServerConfig): ConfiguredValue[] {
  const values = valuesOf(config);
  return config.card === undefined ? values : [...values, judge(config, 'card', { text: config.card })];
}

function valuesOf(config: McpServerConfig): ConfiguredValue[] {
  switch (config.type) {
    case 'stdio':
      return valuesOfProcess(config);
    case 'http':
      return valuesOfRequests(config);
    case 'remote':
      return [];
  }
}

function valuesOfProcess(config: StdioServerConfig): ConfiguredValue[] {
  const { args = [], env = {}, inheritEnv } = config;
  return [
    ...args.map((text, at) => judgeArgument(config, `args[${at}]`, text, args[at - 1])),
    ...Object.entries(env).map(([name, text]) =>
      judge(config, `env.${name}`, { text, hasSecretName: isSecretName(name) }),
    ),
    ...Object.entries(inheritedSecrets(inheritEnv)).map(([name, text]) =>
      judge(config, `inheritEnv.${name}`, { text, hasSecretName: namesSecret(name) }),
    ),
  ];
}

/** An argument has the name of the option before it, or one of its own, as in `--token=VALUE` and `Authorization: VALUE`. */
function judgeArgument(
  config: StdioServerConfig,
  place: string,
  text: string,
  before: string | undefined,
): ConfiguredValue {
  const isOfOption = before !== undefined && /^--?[\w-]+$/.test(before) && isSecretName(before);
  const [, name, sign, value = ''] = /^([\w.-]+)([=:])\s*(.*)$/s.exec(text) ?? [];
  if (isOfOption || name === undefined || !isSecretName(name) || config.secrets?.[place] === true)
    return judge(config, place, { text, hasSecretName: isOfOption });
  return judge(config, place, { text: value, hasSecretName: true, isHeader: sign === ':' });
}

function valuesOfRequests(config: HttpServerConfig): ConfiguredValue[] {
  const { url, headers = {}, auth } = config;
  return [
    judge(config, 'url', { text: url }),
    ...Object.entries(headers).map(([name, text]) =>
      judge(config, `headers.${name}`, { text, hasSecretName: isSecretName(name), isHeader: true }),
    ),
    ...(auth ? valuesOfAuth(config, auth) : []),
  ];
}

function valuesOfAuth(config: HttpServerConfig, auth: ServerAuth): ConfiguredValue[] {
  return Object.entries(auth).map(([key, text]) => {
    const judged = judge(config, `auth.${key}`, { text, hasSecretName: isSecretName(key) });
    // A client secret is also sent in other forms, together with the client's id.
    return key === 'clientSecret'
      ? { ...judged, secrets: [...judged.secrets, ...secretsOfAuth(auth)] }
      : judged;
  });
}

function judge(
  { secrets }: McpServerConfig,
  place: string,
  value: { text: string; hasSecretName?: boolean; isHeader?: boolean },
): ConfiguredValue {
  return { place, ...judgeValue({ hasSecretName: false, ...value }, secrets?.[place]) };
}
