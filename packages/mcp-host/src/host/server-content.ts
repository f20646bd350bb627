import type { HostedServer } from '../servers/hosted-server.ts';
import type { ToolDigests, ToolProvider } from '../tool-calls/index.ts';
import type { ServerContent } from './host-api.ts';

/** Lists what a server has, in the form in which the server sent it. What it withholds is left out. */
export function contentOf(server: HostedServer, digests: ToolDigests): ServerContent {
  const { tools, sent, changed } = server.tools;
  const { prompts, sentPrompts, resources, templates, instructions, changedInstructions, ...content } =
    server.mcpContent;
  return withVersion(
    {
      server: server.name,
      state: server.state,
      problem: server.state === 'ready' ? undefined : server.problem,
      isKnown: server.isKnown,
      tools: tools.filter(({ name }) => !changed?.has(name)).map((tool) => sent?.get(tool.name) ?? tool),
      prompts: prompts
        .filter(({ name }) => !content.changed?.has(name))
        .map((prompt) => sentPrompts?.get(prompt.name) ?? prompt),
      resources,
      templates,
      instructions: changedInstructions?.size ? undefined : instructions,
    },
    digests,
  );
}

/** Lists what a provider has. */
export function contentOfProvider(provider: ToolProvider, digests: ToolDigests): ServerContent {
  const nothing = { prompts: [], resources: [], templates: [], instructions: undefined };
  const facts = { server: provider.name, state: 'ready', problem: undefined, isKnown: true } as const;
  return withVersion({ ...facts, ...nothing, tools: provider.tools() }, digests);
}

function withVersion(content: Omit<ServerContent, 'version'>, digests: ToolDigests): ServerContent {
  const { tools, prompts, resources, templates, instructions } = content;
  return { ...content, version: digests.ofAll([tools, prompts, resources, templates], instructions) };
}
