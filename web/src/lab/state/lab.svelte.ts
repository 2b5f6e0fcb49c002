import type { Compiled, Theory } from '../../engine/protocol';
import { type Path, type Tree } from '../schema/path';
import { aqmName, placeOfLink, type QueuePlace } from '../schema/queues';
import { Schema } from '../schema/schema';
import { ScenarioDocument } from './document.svelte';
import { type Card, loadGallery, loadPlan, loadSchema } from './gallery';
import { queuesOf, Runs, type Wanted } from './runs.svelte';
import { BrokenLink, fromFragment, toFragment } from './share';

/** Everything that the parts of the page share. */
export class Lab {
  readonly document = new ScenarioDocument();
  readonly runs = new Runs();
  cards = $state.raw<Card[]>([]);
  schema = $state.raw<Schema | null>(null);
  /** The card that was opened last; empty for a link or a file. */
  card = $state('');
  /** The scenario as it was opened: sliders lie around its values. */
  anchor = $state.raw<Tree>({});
  /** An AQM to show beside that of the scenario; empty for none. */
  beside = $state('');
  layout = $state<'over' | 'columns'>('over');
  trouble = $state<string | null>(null);
  theory = $state.raw<Theory | null>(null);
  theoryWanted = $state(false);
  /** Whether the reader has asked the browser to save data. Not every browser says so. */
  readonly savesData = Boolean((navigator as { connection?: { saveData?: boolean } }).connection?.saveData);
  /** What is under way before a text or a run changes, or theory is asked. */
  private working = $state(0);
  private fresh = true;
  private generation = 0;
  /** The fragment that this page wrote itself. */
  private ownFragment = '';

  constructor() {
    this.document.onCompiled = () => void this.run(!this.fresh);
  }

  /** Whether what is shown will change without the reader: a text is compiled, a run goes on, curves are drawn. */
  get busy(): boolean {
    return this.working > 0 || this.document.pending || this.runs.busy;
  }

  /** Opens the scenario of the link, or the first of the gallery. */
  async begin(): Promise<void> {
    const linked = location.hash.startsWith('#s=');
    const schema = loadSchema().then((found) => (this.schema = new Schema(found)));
    try {
      const { cards, first } = await loadGallery();
      this.cards = cards;
      if (!linked || !(await this.openLink())) this.showCard(cards[0]!, first);
      await schema;
    } catch (error) {
      this.trouble = `The lab could not be loaded: ${error instanceof Error ? error.message : String(error)}`;
    }
    // Edits need it. It is loaded after the first picture; where readers pay for each byte, when it is needed.
    if (linked || !this.savesData) setTimeout(() => void this.document.load().catch(() => undefined), linked ? 0 : 1500);
  }

  async openCard(id: string): Promise<void> {
    const card = this.cards.find((each) => each.id === id);
    if (!card) return;
    this.renew(id);
    const plan = await this.during(loadPlan(id));
    // Another scenario may have been opened meanwhile.
    if (this.card === id) this.showCard(card, plan);
  }

  private showCard(card: Card, plan: Compiled): void {
    this.renew(card.id);
    this.document.open(card.toml, plan);
    this.anchor = this.document.tree;
  }

  /** Opens a text from a file, a link or a result. */
  openText(text: string): void {
    this.renew('');
    this.document.setText(text, 0);
    this.anchor = this.document.tree;
  }

  /** Opens the scenario of the page's link, if it has one. */
  async openLink(): Promise<boolean> {
    if (location.hash === this.ownFragment) return false;
    this.trouble = null;
    try {
      const text = await this.during(fromFragment(location.hash));
      if (text === null) return false;
      this.openText(text);
      return true;
    } catch (error) {
      if (!(error instanceof BrokenLink)) throw error;
      this.trouble = `${location.hash.slice(0, 24)}…: ${error.message}`;
      return false;
    }
  }

  /** A link to the scenario of now, which is then also the page's address. */
  async share(): Promise<string> {
    this.ownFragment = await toFragment(this.document.text);
    history.replaceState(null, '', this.ownFragment);
    return location.href;
  }

  /** Runs the scenario of now from its beginning. */
  async run(keepGhost: boolean): Promise<void> {
    const compiled = this.document.compiled;
    if (!compiled) return;
    this.fresh = false;
    const generation = ++this.generation;
    const wanted: Wanted[] = [{ compiled, label: this.aqmLabel(compiled) }];
    // Without a pause where there is nothing to wait for: the engine begins while the page is drawn.
    const other = this.beside ? await this.during(this.besideWanted(compiled)) : null;
    if (generation !== this.generation) return;
    if (other) wanted.push(other);
    await this.runs.start(wanted, keepGhost && !other);
    if (this.theoryWanted) void this.solve();
  }

  /** Shows another AQM beside that of the scenario. */
  async setBeside(aqm: string): Promise<void> {
    this.beside = aqm;
    await this.run(false);
  }

  /** Asks theory about the scenario of now. */
  solve(): Promise<void> {
    return this.during(this.askTheory());
  }

  private async askTheory(): Promise<void> {
    const { text, current } = this.document;
    if (!current || this.document.problems.length > 0) return;
    try {
      const compiler = await this.document.load();
      const theory = await compiler.theory(text);
      if (text === this.document.text) this.theory = theory;
    } catch (error) {
      this.theory = { missing: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Where the scenario writes the queue that is shown. */
  get queue(): QueuePlace | null {
    const compiled = this.document.compiled;
    const names = compiled ? queuesOf(compiled).map((each) => each.name) : [];
    return placeOfLink(this.document.tree, this.runs.link, names);
  }

  setValue(path: Path, value: unknown): void {
    this.document.setValue(path, value);
  }

  private async during<T>(work: Promise<T>): Promise<T> {
    this.working += 1;
    try {
      return await work;
    } finally {
      this.working -= 1;
    }
  }

  private renew(card: string): void {
    this.card = card;
    this.beside = '';
    this.theory = null;
    this.fresh = true;
    this.ownFragment = location.hash;
  }

  private aqmLabel(compiled: Compiled): string {
    return this.runs.linkIn(compiled)?.aqm ?? 'run';
  }

  /** The plan of the scenario with the other AQM. */
  private async besideWanted(compiled: Compiled): Promise<Wanted | null> {
    const queue = this.queue;
    if (!queue) return null;
    try {
      const compiler = await this.document.load();
      const made = await compiler.compile(this.document.textWith([[[...queue.path, 'aqm'], this.beside]]));
      if (made.ok) {
        const same = this.beside === this.aqmLabel(compiled);
        return { compiled: made.compiled, label: same ? `${this.beside}, defaults` : this.beside };
      }
      this.trouble = made.problems.map((each) => `${each.path}: ${each.message}`).join('\n');
    } catch (error) {
      this.trouble = error instanceof Error ? error.message : String(error);
    }
    this.beside = '';
    return null;
  }

  /** The AQM of the queue that is shown. */
  get aqm(): string {
    return this.queue ? aqmName(this.document.tree, this.queue) : '';
  }
}
