// The scenarios to start from. Their plans are made when the lab is built, so that the first picture needs no compiler.

import type { Compiled } from '../../engine/protocol';

export interface Card {
  /** Name of its file. */
  id: string;
  title: string;
  about: string;
  /** What it belongs to: the examples, or a paper. */
  group: string;
  toml: string;
}

export interface Gallery {
  cards: Card[];
  /** The compiled scenario of the first card, which is opened first. */
  first: Compiled;
}

const DATA = 'gallery/';

async function json<T>(name: string): Promise<T> {
  const response = await fetch(`${DATA}${name}`);
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return (await response.json()) as T;
}

export const loadGallery = (): Promise<Gallery> => json('gallery.json');
export const loadPlan = (id: string): Promise<Compiled> => json(`${id}.json`);
export const loadSchema = (): Promise<object> => json('schema.json');
