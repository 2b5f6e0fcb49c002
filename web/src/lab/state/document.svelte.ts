import { parse, patch } from '@decimalturn/toml-patch';
import { Compiler } from '../../engine/compiler';
import type { Compiled, Problem } from '../../engine/protocol';
import { isTable, messagePath, type Path, type Tree, withValue } from '../schema/path';

/** Milliseconds without a key before a text is compiled. */
const PAUSE = 250;

/** The scenario that is edited: its text, the same as a tree, what is wrong with it, and its plan. */
export class ScenarioDocument {
  text = $state('');
  /** The text's content; that of the last text that was TOML while it is none. */
  tree = $state.raw<Tree>({});
  problems = $state.raw<Problem[]>([]);
  compiled = $state.raw<Compiled | null>(null);
  /** Whether the text is no TOML. */
  broken = $state(false);
  /** Whether `compiled` and `problems` are those of the text. */
  current = $state(false);
  compiler = $state.raw<Compiler | null>(null);
  /** Whether the compiler was asked for. */
  compilerAsked = $state(false);
  compilerFailure = $state<string | null>(null);
  /** Called with each new plan. */
  onCompiled: (compiled: Compiled) => void = () => {};
  private loading: Promise<Compiler> | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private busy = false;
  private again = false;

  /** Opens a scenario whose plan is known. */
  open(text: string, compiled: Compiled): void {
    this.replace(text);
    this.again = false;
    this.problems = [];
    this.compiled = compiled;
    this.current = true;
    this.onCompiled(compiled);
  }

  /** Another text, which may be anything. */
  setText(text: string, pause = PAUSE): void {
    this.replace(text);
    this.schedule(pause);
  }

  /** Changes one value; undefined removes it. Comments and the order of the text stay. */
  setValue(path: Path, value: unknown): void {
    this.setValues([[path, value]]);
  }

  /** Changes several values at once. */
  setValues(values: readonly (readonly [Path, unknown])[]): void {
    if (this.broken) return;
    this.replace(this.textWith(values));
    this.schedule(0);
  }

  /** The text with other values, without changing it. */
  textWith(values: readonly (readonly [Path, unknown])[]): string {
    let changed: unknown = this.tree;
    for (const [path, value] of values) changed = withValue(changed, path, value);
    return patch(this.text, changed as Tree);
  }

  /** Whether the compiler's answer to the text of now is still to come. */
  get pending(): boolean {
    return !this.current && this.compilerFailure === null;
  }

  /** The compiler, which is loaded once. */
  load(): Promise<Compiler> {
    this.compilerAsked = true;
    this.loading ??= Compiler.load().then(
      (compiler) => (this.compiler = compiler),
      (error: Error) => {
        this.compilerFailure = `The scenario compiler could not be loaded: ${error.message}`;
        throw error;
      },
    );
    return this.loading;
  }

  /** The problems of the value at a path, and of those inside it if `within`. */
  problemsAt(path: Path, within = false): Problem[] {
    if (this.problems.length === 0) return [];
    const names = [messagePath(this.tree, path), path.join('.')];
    return this.problems.filter(({ path: at }) => names.some((name) => at === name || (within && at.startsWith(`${name}.`))));
  }

  private replace(text: string): void {
    clearTimeout(this.timer);
    this.text = text;
    this.current = false;
    try {
      const parsed: unknown = parse(text);
      if (isTable(parsed)) this.tree = parsed;
      this.broken = false;
    } catch {
      this.broken = true;
      // The compiler says where, in the words of the command line.
    }
  }

  private schedule(pause: number): void {
    this.timer = setTimeout(() => void this.compile(), pause);
  }

  /** Compiles the text of now. While the compiler is at work only the newest text waits. */
  private async compile(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    if (this.current) return;
    this.busy = true;
    const text = this.text;
    try {
      const compiler = await this.load();
      const made = await compiler.compile(text);
      if (text === this.text && !this.current) this.take(made);
    } catch (error) {
      this.compilerFailure ??= `The scenario compiler has failed: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      this.busy = false;
    }
    if (this.again) {
      this.again = false;
      void this.compile();
    }
  }

  private take(made: Awaited<ReturnType<Compiler['compile']>>): void {
    this.current = true;
    if (!made.ok) {
      this.problems = made.problems;
      return;
    }
    this.problems = [];
    this.compiled = made.compiled;
    this.onCompiled(made.compiled);
  }
}
