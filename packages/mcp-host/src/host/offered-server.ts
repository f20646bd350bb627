import type { HostedServer } from '../servers/hosted-server.ts';
import type { ToolDigests, ToolProvider } from '../tool-calls/index.ts';
import type { OfferedServer } from './host-api.ts';

/** Lists what a server offers, in the form in which the server sent it. What it withholds is left out. */
export function offeredBy(server: HostedServer, digests: ToolDigests): OfferedServer {
  const { tools, sent, changed } = server.offer;
  const { prompts, sentPrompts, resources, templates, instructions, changedInstructions, ...offers } =
    server.offers;
  return withVersion(
    {
      server: server.name,
      state: server.state,
      problem: server.state === 'ready' ? undefined : server.problem,
      isKnown: server.isKnown,
      tools: tools.filter(({ name }) => !changed?.has(name)).map((tool) => sent?.get(tool.name) ?? tool),
      prompts: prompts
        .filter(({ name }) => !offers.changed?.has(name))
        .map((prompt) => sentPrompts?.get(prompt.name) ?? prompt),
      resources,
      templates,
      instructions: changedInstructions?.size ? undefined : instructions,
    },
    digests,
  );
}

/** Lists what a provider offers. */
export function offeredByProvider(provider: ToolProvider, digests: ToolDigests): OfferedServer {
  const nothing = { prompts: [], resources: [], templates: [], instructions: undefined };
  const facts = { server: provider.name, state: 'ready', problem: undefined, isKnown: true } as const;
  return withVersion({ ...facts, ...nothing, tools: provider.tools() }, digests);
}

function withVersion(offered: Omit<OfferedServer, 'version'>, digests: ToolDigests): OfferedServer {
  const { tools, prompts, resources, templates, instructions } = offered;
  return { ...offered, version: digests.ofAll([tools, prompts, resources, templates], instructions) };
}
