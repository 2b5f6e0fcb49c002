// Samples of a run, as they arrive.

import type { Update } from '../../engine/protocol';

/** Numbers that grow at the end; memory doubles when it is full. */
export class Column {
  private data = new Float64Array(1024);
  length = 0;

  append(values: Float64Array): void {
    if (this.length + values.length > this.data.length) {
      const larger = new Float64Array(Math.max(2 * this.data.length, this.length + values.length));
      larger.set(this.data.subarray(0, this.length));
      this.data = larger;
    }
    this.data.set(values, this.length);
    this.length += values.length;
  }

  get values(): Float64Array {
    return this.data.subarray(0, this.length);
  }
}

class Columns {
  private readonly byName = new Map<string, Column>();

  append(name: string, values: Float64Array): void {
    let column = this.byName.get(name);
    if (!column) this.byName.set(name, (column = new Column()));
    column.append(values);
  }

  get(name: string): Float64Array {
    return this.byName.get(name)?.values ?? new Float64Array();
  }

  get names(): string[] {
    return [...this.byName.keys()];
  }
}

/** All samples of one run. */
export class Samples {
  private readonly byLink = new Map<number, Columns>();
  readonly flowTimes = new Column();
  private readonly windows = new Map<number, Column>();
  private readonly rates = new Map<number, Column>();

  append(update: Update): void {
    for (const { index, columns } of update.links) {
      let link = this.byLink.get(index);
      if (!link) this.byLink.set(index, (link = new Columns()));
      for (const [name, values] of Object.entries(columns)) link.append(name, values);
    }
    this.flowTimes.append(update.flows.t);
    for (const [into, from] of [[this.windows, update.flows.cwnd], [this.rates, update.flows.rate]] as const) {
      for (const [flow, values] of Object.entries(from)) {
        let column = into.get(Number(flow));
        if (!column) into.set(Number(flow), (column = new Column()));
        column.append(values);
      }
    }
  }

  /** A column of a link: t, queue, sojourn, drops, marks, utilization or a probe. */
  link(index: number, name: string): Float64Array {
    return this.byLink.get(index)?.get(name) ?? new Float64Array();
  }

  columnsOf(index: number): string[] {
    return this.byLink.get(index)?.names ?? [];
  }

  /** Flows with samples. */
  get flows(): number[] {
    return [...this.windows.keys()].sort((a, b) => a - b);
  }

  window(flow: number): Float64Array {
    return this.windows.get(flow)?.values ?? new Float64Array();
  }

  rate(flow: number): Float64Array {
    return this.rates.get(flow)?.values ?? new Float64Array();
  }
}
