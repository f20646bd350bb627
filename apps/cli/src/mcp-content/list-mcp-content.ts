import { readManifest } from '@signalbox/client/operator';
import type { Manifest } from '@signalbox/protocol';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { count, oneLine, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';
import { askedRole } from '../token/listed-roles.ts';

/** The options of the commands that list prompts or resources. `role` is that whose list is read. */
export interface McpContentListFlags extends ToolsFlags {
  role?: string;
}

/** Prints the resources and templates that a role may use, by default the caller's. */
export async function listResources(flags: McpContentListFlags): Promise<void> {
  const { version, resources = [], resource_templates: templates = [] } = await manifestFor(flags);
  if (flags.json) return printJson({ version, resources, resource_templates: templates });
  if (resources.length + templates.length === 0) return printLines(`${whose(flags)} may use no resources`);
  const rows = [
    ...resources.map(({ uri, name, description }) => [uri, oneLine(description ?? name, 90)]),
    ...templates.map(({ uriTemplate, name, description }) => [uriTemplate, oneLine(description ?? name, 90)]),
  ];
  const total = `${count(resources.length, 'resource')} and ${count(templates.length, 'template')}`;
  printLines(tableLines(['URI', 'IS'], rows), '', `${total} for ${whose(flags)}.`);
}

/** Prints the prompts that a role may use, by default the caller's. */
export async function listPrompts(flags: McpContentListFlags): Promise<void> {
  const { version, prompts = [] } = await manifestFor(flags);
  if (flags.json) return printJson({ version, prompts });
  if (prompts.length === 0) return printLines(`${whose(flags)} may use no prompts`);
  const rows = prompts.map(({ name, title, description, arguments: args = [] }) => [
    name,
    args.map((arg) => (arg.required ? arg.name : `${arg.name}?`)).join(', '),
    oneLine(description ?? title ?? '', 80),
  ]);
  printLines(
    tableLines(['PROMPT', 'ARGUMENTS', 'ITS SERVER SAYS'], rows),
    '',
    `${count(prompts.length, 'prompt')} for ${whose(flags)}.`,
  );
}

async function manifestFor(flags: McpContentListFlags): Promise<Manifest> {
  const { role } = flags;
  return await withClient(flags, async (connected) => {
    const orchestrator = await orchestratorOf(connected, flags);
    const manifest = await readManifest(connected.client, orchestrator, role === undefined ? {} : { role });
    const warning = role === undefined ? undefined : await askedRole(connected, flags, role);
    if (warning !== undefined && !flags.json) printNotes(`signalbox: ${warning}`);
    return manifest;
  });
}

function whose({ role }: McpContentListFlags): string {
  return role === undefined ? 'your role' : `role ${role}`;
}
