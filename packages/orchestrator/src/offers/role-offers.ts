import type { Offers } from '@signalbox/mcp-host';
import {
  namedUri,
  type OfferedKinds,
  type Prompt,
  type Resource,
  type ResourceTemplate,
  type ServerInstructions,
} from '@signalbox/protocol';
import type { RoleOfferAllowlist } from '../roles/role-offer-allowlist.ts';

/** The prompts, resources, templates and instructions that one role is shown, in the order of the configuration. */
export interface RoleOffers {
  kinds: OfferedKinds;
  prompts: readonly Prompt[];
  resources: readonly Resource[];
  templates: readonly ResourceTemplate[];
  /** The instructions of the servers of which the role is shown something. */
  instructions: readonly ServerInstructions[];
}

/** The most characters of the instructions of all servers together. */
const maxInstructions = 32_000;

/**
 * Returns the offers that a role is shown. A URI or template that an earlier server also offers to the role is shown under the name of its
 * own server. `usesToolOf` tells of which servers the role is shown a tool.
 */
export function offersOfRole(
  offers: Offers,
  allowlist: RoleOfferAllowlist,
  role: string,
  usesToolOf: (server: string) => boolean,
): RoleOffers {
  const seen = new Set<string>();
  const prompts = offers.prompts.filter(
    ({ server, own, prompt, isHidden, change }) =>
      !isHidden && !change && allowlist.allowsPrompt(role, prompt.name, { server, tool: own }),
  );
  const resources = offers.resources.filter(
    ({ server, resource, isHidden }) => !isHidden && allowlist.allowsResource(role, server, resource.uri),
  );
  const templates = offers.templates.filter(
    ({ server, template, isHidden }) =>
      !isHidden && allowlist.allowsTemplate(role, server, template.uriTemplate),
  );
  const used = new Set([...prompts, ...resources, ...templates].map(({ server }) => server));
  const unique = (server: string, uri: string): string => {
    if (seen.has(uri)) return namedUri(server, uri);
    seen.add(uri);
    return uri;
  };
  return {
    kinds: allowlist.kinds(role),
    prompts: prompts.map(({ prompt }) => prompt),
    resources: resources.map(({ server, resource }) => {
      const uri = unique(server, resource.uri);
      return uri === resource.uri ? resource : { ...resource, uri };
    }),
    templates: templates.map(({ server, template }) => {
      const uriTemplate = unique(server, template.uriTemplate);
      return uriTemplate === template.uriTemplate ? template : { ...template, uriTemplate };
    }),
    instructions: within(
      offers.instructions.filter(({ server }) => used.has(server) || usesToolOf(server)),
      maxInstructions,
    ),
  };
}

function within(all: readonly ServerInstructions[], characters: number): ServerInstructions[] {
  let left = characters;
  return all.filter(({ text }) => {
    left -= text.length;
    return left >= 0;
  });
}
