import { isDeepStrictEqual } from 'node:util';
import type { Inventory, McpHost } from '@signalbox/mcp-host';
import type { Policy } from '@signalbox/orchestrator';
import type { Config } from '../config/index.ts';
import { commonPolicy, policyOf } from './policy.ts';
import type { RenamedTool } from './repeat-lists.ts';

/** The part of an orchestrator that takes over rules. It gets whole policies only, so that no change can leave a rule out. */
export interface RuledOrchestrator {
  setPolicy(policy: Policy): void;
}

/** Keeps the rules of a configuration in force in a running orchestrator, and follows the names of its tools, until it is disposed. */
export class RulesInForce implements Disposable {
  readonly #orchestrator: RuledOrchestrator;
  readonly #stopListening: () => void;
  #config: Config;
  #replacement: Config | undefined;
  #renamed: readonly RenamedTool[] = [];
  /** The part of the rules in force that names of tools decide. */
  #repeat: Policy['repeat'] | undefined;
  #isOver = false;

  /** `config` is the configuration that the orchestrator was started with; see {@link startPolicy}. */
  constructor(config: Config, host: McpHost, orchestrator: RuledOrchestrator) {
    this.#config = config;
    this.#orchestrator = orchestrator;
    const follow = (inventory: Inventory): void => {
      this.#renamed = renamedIn(inventory);
      if (!isDeepStrictEqual(this.#rules().repeat, this.#repeat)) this.#set();
    };
    this.#stopListening = host.onInventoryChanged(follow);
    // Listeners are not told of the first inventory.
    void host.inventory().then((first) => {
      if (!this.#isOver) follow(first);
    });
  }

  /** Throws `bad_config` if the orchestrator would refuse the rules of a configuration. */
  check(config: Config): void {
    policyOf(config, this.#renamed);
  }

  /** Lets a role use only what both the present configuration and `next` allow, until the next {@link apply}. */
  narrowTo(next: Config): void {
    this.#replacement = next;
    this.#set();
  }

  /** Puts the rules of a configuration in force. */
  apply(config: Config): void {
    this.#config = config;
    this.#replacement = undefined;
    this.#set();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#stopListening();
  }

  #set(): void {
    const rules = this.#rules();
    this.#repeat = rules.repeat;
    this.#orchestrator.setPolicy(rules);
  }

  #rules(): Policy {
    const next = this.#replacement;
    return next ? commonPolicy(this.#config, next, this.#renamed) : policyOf(this.#config, this.#renamed);
  }
}

/** Builds the rules with which an orchestrator starts. Throws `bad_config`. */
export function startPolicy(config: Config, host: McpHost): Policy {
  return policyOf(config, renamedIn(host.presentInventory()));
}

function renamedIn({ renamed, unprefixed }: Inventory): RenamedTool[] {
  return [...renamed, ...unprefixed];
}
