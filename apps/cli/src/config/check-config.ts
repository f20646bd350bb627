import { type Config, configJsonSchema } from '@signalbox/daemon/config';
import {
  checkListeners,
  checkStillDenies,
  configWarnings,
  type FoundConfig,
  findConfig,
  searchedText,
  strandedRoles,
  withExposureChecked,
} from '@signalbox/daemon/config/internal';
import { dataDirectory, runningBroker } from '@signalbox/daemon/data-directory';
import { type SecretReason, shortestSecret } from '@signalbox/mcp-host/redaction';
import type { ConfiguredValue } from '@signalbox/mcp-host/rules';
import { SignalboxError } from '@signalbox/protocol';
import { count, linesOf, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';
import { loadFound, othersConfig } from './load-found.ts';
import { missingCommands } from './missing-commands.ts';
import { reloadWarnings } from './reload-warnings.ts';

/** Prints the configuration's JSON Schema. */
export async function printConfigSchema(): Promise<void> {
  printLines(linesOf(JSON.stringify(await configJsonSchema(), undefined, 2)));
}

/** The longest wait for a running orchestrator, in milliseconds. */
const answerMs = 3000;

/** The options of `signalbox config check`. */
export interface CheckFlags {
  config?: string;
  insecure?: boolean;
  json?: boolean;
}

/**
 * Prints that a configuration is right, or can be used with warnings, and a summary of it. Rejects with `bad_config` if it is wrong.
 * Like `up`, it rejects with `exposed` if a hosted server can reach the data directory, and with `insecure_listen` for an address that
 * other machines could read along at.
 */
export async function checkConfig(named: string | undefined, flags: CheckFlags): Promise<void> {
  const found = findConfig(named);
  if (!found) throw noConfig();
  const { file } = found;
  const read = await loadFound(found);
  const config = withExposureChecked(read, { dataDir: dataDirectory(undefined, read) });
  checkListeners(config, flags);
  if (Object.keys(config.serverRepeat).length > 0) {
    // It loads the MCP host, which takes its time.
    const { checkPolicy } = await import('@signalbox/daemon/orchestrator');
    checkPolicy(config);
  }
  await checkDatabaseFiles(config, file);
  await checkCertificates(config);
  const { origins, leftOut, leftOutFiles, unlisted, capabilities } = config;
  const warnings = [
    ...config.warnings,
    ...missingCommands(config, process.env),
    ...configWarnings(config, file),
    ...reloadWarnings(config),
    ...(await checkRunning(found, config)),
  ];
  const servers = Object.keys(config.mcpServers);
  const values = await judgedValues(config);
  const roles = Object.keys(config.roles);
  if (flags.json) {
    printJson({
      ok: true,
      file,
      servers,
      left_out: leftOut,
      left_out_files: leftOutFiles,
      origins,
      capabilities,
      roles,
      unlisted,
      warnings,
      values: values.map(({ server, place, reason, isMarked }) => ({
        ...{ server, place, secret: reason !== undefined },
        ...(reason !== undefined && { because: reason }),
        ...(isMarked && { because: 'marked' }),
      })),
    });
    return;
  }
  const left = [...leftOut, ...leftOutFiles.map((path) => `all of ${path}`)];
  printLines(
    `${file} ${warnings.length > 0 ? `can be used, with ${count(warnings.length, 'warning')}` : 'is right'}: ` +
      `${count(servers.length, 'MCP server')}${left.length > 0 ? ` (left out: ${left.join(', ')})` : ''}, ${count(roles.length, 'role')}; ` +
      `roles without an entry may use ${unlisted === 'deny' ? 'no tools' : 'every tool'}.`,
    ...mergedLines(config, file),
    ...valueLines(values),
    ...(capabilities.length > 0 ? ['', 'Capability files:', ...capabilities.map((path) => `  ${path}`)] : []),
  );
  for (const warning of warnings) printNotes(`warning: ${warning}`);
}

/**
 * Names the tokens with roles that the configuration does not list, if its broker runs here and can be asked. Rejects with `bad_config` if
 * the orchestrator that runs would refuse the configuration.
 */
async function checkRunning({ file, by }: FoundConfig, config: Config): Promise<string[]> {
  if (runningBroker(dataDirectory(undefined, config)) === undefined) return [];
  const { resolveConnection } = await import('../connection/connection.ts');
  const { openClient, ownAddress } = await import('../connection/connected-client.ts');
  const { listTokens, queryOrchestrator } = await import('@signalbox/client/operator');
  const { requireOrchestrator } = await import('@signalbox/client/operator/internal');
  // The configuration alone says which broker is asked, and by whom.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNALBOX_')),
  );
  const flags = by === 'search' ? {} : { config: file };
  let stranded: string[] = [];
  try {
    const connection = await resolveConnection(flags, env, { warn: () => {} });
    await using client = await openClient(connection, ownAddress(connection));
    stranded = strandedRoles(await listTokens(client), { ...config, file });
    // Another configuration is in force there, and this one never replaces it.
    if (othersConfig(dataDirectory(undefined, config), file) !== undefined) return stranded;
    await requireOrchestrator(client, await connection.orchestrator());
    const options = { timeoutMs: answerMs };
    const inForce = await queryOrchestrator(
      client,
      await connection.orchestrator(),
      { op: 'matrix' },
      options,
    );
    checkStillDenies({ unlisted: inForce.unlisted ? 'allow' : 'deny' }, config);
    return stranded;
  } catch (error) {
    if (error instanceof SignalboxError && error.code !== 'bad_config') return stranded;
    throw error;
  }
}

/** Reads the files that the addresses of the database name. Other commands don't: their user may have no right to. */
async function checkDatabaseFiles({ broker }: Config, file: string): Promise<void> {
  if (!broker.store) return;
  // The driver is loaded only if the configuration names a database.
  const { tlsProblem } = await import('@signalbox/postgres/internal');
  const { postgres, direct } = broker.store;
  for (const [field, address] of Object.entries({ postgres, direct })) {
    const problem = address === undefined ? undefined : await tlsProblem(address);
    if (problem !== undefined)
      throw new SignalboxError('bad_config', `${file}: broker.store.${field}: ${problem}`);
  }
}

/** Reads the certificates and their keys as `up` does. Rejects with `bad_tls`. */
async function checkCertificates({ broker, a2a }: Config): Promise<void> {
  for (const tls of [broker.tls, a2a?.tls]) {
    if (!tls) continue;
    const { readPair } = await import('@signalbox/daemon/tls');
    await readPair(tls);
  }
}

function noConfig(): SignalboxError {
  return new SignalboxError('usage', `no configuration to check: ${searchedText()}`, {
    details: { hint: 'name it: signalbox config check FILE   (signalbox init writes one)' },
  });
}

/** Lists the file of each server, if there is more than one file. */
function mergedLines({ origins, mcpServers }: Config, file: string): string[] {
  const rows = Object.entries(origins).map(([name, origin]) => [
    name,
    mcpServers[name]?.disabled ? `${mcpServers[name].type}, disabled` : (mcpServers[name]?.type ?? ''),
    origin.refinedBy === undefined ? origin.file : `${origin.file}, refined by ${origin.refinedBy}`,
    origin.replaces.join(', ') || '-',
  ]);
  if (Object.values(origins).every((origin) => origin.file === file)) return [];
  return ['', ...tableLines(['SERVER', 'TYPE', 'FROM', 'REPLACES'], rows)];
}

/** A value of a server, and whether it is a secret. */
type ServerValue = ConfiguredValue & { server: string };

/** Judges the values that servers get, without those arguments and addresses that hold no secret and that nobody has marked. */
async function judgedValues({ mcpServers }: Config): Promise<ServerValue[]> {
  const { judgeServer } = await import('@signalbox/mcp-host/rules');
  return Object.entries(mcpServers).flatMap(([server, entry]) =>
    judgeServer(entry)
      .filter(
        ({ place, reason, isMarked }) => /^(env|headers)\./.test(place) || reason !== undefined || isMarked,
      )
      .map((value) => ({ server, ...value })),
  );
}

const reasonTexts: Readonly<Record<SecretReason, string>> = {
  marked: 'its entry says so',
  reference: 'it comes from a variable or a file',
  name: 'its name means a secret',
  form: 'it holds a credential',
};

/** Says which values are secrets and why. It shows no value. */
function valueLines(values: readonly ServerValue[]): string[] {
  if (values.length === 0) return [];
  const rows = values.map(({ server, place, reason, isMarked, secrets }) => {
    if (reason === undefined) return [server, place, 'shown', isMarked ? 'its entry says so' : '-'];
    const isShort = secrets.every((secret) => secret.length < shortestSecret);
    const short = `, but is shorter than ${shortestSecret} characters and so is not removed`;
    return [server, place, 'secret', `${reasonTexts[reason]}${isShort ? short : ''}`];
  });
  return ['', ...tableLines(['SERVER', 'VALUE', 'IS', 'BECAUSE'], rows)];
}
