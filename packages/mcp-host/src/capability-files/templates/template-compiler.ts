import { suggestion } from '@signalbox/protocol/internal';
import { namesIn, parseTemplate, soleName, type Template, type ValueTemplate } from './template.ts';

/** A problem in a document. `path` leads to it from the document's root. */
export interface DocumentProblem {
  path: readonly PropertyKey[];
  message: string;
}

/** The input properties of a tool. */
export interface InputNames {
  known: ReadonlySet<string>;
  /** Properties that always have a value, because they are required or have a default. */
  certain: ReadonlySet<string>;
}

/** Compiles the templates of one document and collects the problems of that document. A broken template compiles to an empty one. */
export class TemplateCompiler {
  readonly problems: DocumentProblem[] = [];
  readonly #names: InputNames;

  constructor(names: InputNames) {
    this.#names = names;
  }

  /** Adds a problem of the document. */
  report(path: readonly PropertyKey[], message: string): void {
    this.problems.push({ path, message });
  }

  /** Compiles a text that is always sent, so that each of its placeholders must have a value. */
  requiredText(text: string, path: readonly PropertyKey[]): Template {
    const template = this.#text(text, path);
    this.#requireValues(template, path);
    return template;
  }

  /** Compiles a value, in which a text that is one placeholder may have no value. */
  value(value: unknown, path: readonly PropertyKey[]): ValueTemplate {
    if (typeof value === 'string') {
      const text = this.#text(value, path);
      if (soleName(text) === undefined) this.#requireValues(text, path);
      return { text };
    }
    if (Array.isArray(value)) return { list: value.map((item, at) => this.value(item, [...path, at])) };
    if (typeof value !== 'object' || value === null) return { constant: value };
    return {
      entries: Object.entries(value).map(([key, inner]) => [key, this.value(inner, [...path, key])] as const),
    };
  }

  #text(text: string, path: readonly PropertyKey[]): Template {
    const template = parseTemplate(text);
    if (!template) {
      const fix = "write '{{' or '}}' for a brace itself";
      this.report(path, `holds a brace that belongs to no {placeholder}; ${fix}`);
      return [];
    }
    for (const name of namesIn(template)) {
      if (!this.#names.known.has(name)) {
        this.report(path, `{${name}} is no property of schema.input${suggestion(name, this.#names.known)}`);
      }
    }
    return template;
  }

  #requireValues(template: Template, path: readonly PropertyKey[]): void {
    for (const name of namesIn(template)) {
      if (!this.#names.known.has(name) || this.#names.certain.has(name)) continue;
      const fix = 'so schema.input must require it or give it a default';
      this.report(path, `{${name}} is part of a longer text, ${fix}`);
    }
  }
}
