export {
  type CapabilityCatalog,
  type CapabilityOptions,
  openCapabilities,
} from './capability-catalog.ts';
export { capabilityJsonSchema } from './document/capability-document.ts';
