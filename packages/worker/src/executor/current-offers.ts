import type {
  Manifest,
  OfferedKinds,
  Prompt,
  Resource,
  ResourceTemplate,
  ServerInstructions,
} from '@signalbox/protocol';

/** What the role is shown beside tools, as the orchestrator last listed it. */
export interface CurrentOffers {
  kinds: OfferedKinds;
  prompts: readonly Prompt[];
  resources: readonly Resource[];
  templates: readonly ResourceTemplate[];
  instructions: readonly ServerInstructions[];
}

/** Stands for the offers before the first list. */
export const noOffers: CurrentOffers = {
  kinds: {},
  prompts: [],
  resources: [],
  templates: [],
  instructions: [],
};

/** Reads the offers of a whole manifest. */
export function offersOf({
  offers = {},
  prompts = [],
  resources = [],
  resource_templates: templates = [],
  instructions = [],
}: Manifest): CurrentOffers {
  return { kinds: offers, prompts, resources, templates, instructions };
}

/** Tells of which kinds a list differs. */
export function changedOffers(before: CurrentOffers, after: CurrentOffers): OfferedKinds {
  const differ = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other);
  return {
    ...(differ(before.prompts, after.prompts) && { prompts: true }),
    ...(differ([before.resources, before.templates], [after.resources, after.templates]) && {
      resources: true,
    }),
  };
}
