import { suggestion } from '@signalbox/protocol';

import { namesIn, parseTemplate, soleName, type Template, type ValueTemplate } from './template.ts';

/** Something wrong in a document. `path` leads to it from the document's root. */
export interface DocumentProblem {
  path: readonly PropertyKey[];
  message: string;
}

/** The input properties of a tool, by what a placeholder may rely on. */
export interface InputNames {
  known: ReadonlySet<string>;
  /** Required, or with a default: they always have a value. */
  certain: ReadonlySet<string>;
}

/** Reads the templates of one document and collects what is wrong with them; broken ones read as empty. */
export class TemplateReader {
  readonly problems: DocumentProblem[] = [];
  readonly #names: InputNames;

  constructor(names: InputNames) {
    this.#names = names;
  }

  refuse(path: readonly PropertyKey[], message: string): void {
    this.problems.push({ path, message });
  }

  /** A text that is sent whatever happens, so that each of its placeholders must have a value. */
  certainText(text: string, path: readonly PropertyKey[]): Template {
    const template = this.#read(text, path);
    this.#expectCertain(namesIn(template), path);
    return template;
  }

  /** A value in which a text that is one placeholder may be left out. */
  value(value: unknown, path: readonly PropertyKey[]): ValueTemplate {
    if (typeof value === 'string') {
      const text = this.#read(value, path);
      if (soleName(text) === undefined) this.#expectCertain(namesIn(text), path);
      return { text };
    }
    if (Array.isArray(value)) return { list: value.map((item, at) => this.value(item, [...path, at])) };
    if (typeof value !== 'object' || value === null) return { constant: value };
    return {
      entries: Object.entries(value).map(([key, inner]) => [key, this.value(inner, [...path, key])] as const),
    };
  }

  #read(text: string, path: readonly PropertyKey[]): Template {
    const template = parseTemplate(text);
    if (!template) {
      this.refuse(
        path,
        "holds a brace that belongs to no {placeholder}; write '{{' or '}}' for a brace itself",
      );
      return [];
    }
    for (const name of namesIn(template)) {
      if (!this.#names.known.has(name)) {
        this.refuse(path, `{${name}} is no property of schema.input${suggestion(name, this.#names.known)}`);
      }
    }
    return template;
  }

  #expectCertain(names: readonly string[], path: readonly PropertyKey[]): void {
    for (const name of names) {
      if (!this.#names.known.has(name) || this.#names.certain.has(name)) continue;
      this.refuse(
        path,
        `{${name}} is part of a longer text, so schema.input must require it or give it a default`,
      );
    }
  }
}
