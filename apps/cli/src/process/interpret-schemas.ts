import { config } from 'zod';

/**
 * Has zod interpret schemas in this process, and not compile them at their first use: a command that ends soon reads few values with each.
 * It has to come before the modules with schemas are loaded.
 */
export function interpretSchemas(): void {
  config({ jitless: true });
}
