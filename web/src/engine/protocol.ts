// What the pages and the two workers say to each other. The plan and all results are made by the engine
// (crates/wasm) and by the Python package marqueue.scenario; here are only their shapes.

/** One mistake of a scenario. `message` is that of the command line, word for word. */
export interface Problem {
  /** Dotted path of the key; empty for the scenario as a whole. */
  path: string;
  /** Where the key stands in the text, from 1; absent if it does not. */
  line?: number;
  column?: number;
  message: string;
}

/** A link whose queue is measured, or a link of the plan without one (`aqm` is then null). */
export interface LinkInfo {
  name: string;
  /** Index into the plan's links. */
  index: number;
  aqm: string | null;
  /** bit/s. */
  rate: number;
  /** Propagation delay, s. */
  delay: number;
  /** Packets, or bytes if the scenario says so; null without a queue. */
  buffer: number | null;
  bufferUnit: 'packets' | 'bytes';
  /** Internal variables of the AQM that are sampled, with units. */
  probes: string[];
  probeUnits: string[];
}

/** A group of equal flows. */
export interface GroupInfo {
  name: string;
  /** Index into the plan's traffic. */
  index: number;
  kind: string;
  /** Flows that exist from the start; 0 for flows that arrive. */
  flows: number;
  /** Row of its first flow; -1 for flows that arrive. */
  firstFlow: number;
}

export interface TopologyNode { id: string; kind: 'router' | 'host' | 'cpu' }
export interface TopologyEdge { from: string; to: string; link: string; index: number }

/** A scenario without mistakes, ready to run. */
export interface Compiled {
  /** JSON, for `Simulation.start`. */
  plan: string;
  warnings: string[];
  links: LinkInfo[];
  groups: GroupInfo[];
  /** s. */
  duration: number;
  /** End of the warm-up, s. */
  warmup: number;
  /** In digits: a number of JavaScript does not hold 63 bits. */
  seed: string;
  topology: { nodes: TopologyNode[]; edges: TopologyEdge[] };
  /** The scenario as JSON, as `toToml` and `toPython` take it. */
  normalized: object;
  /** Memory that a run takes at most, with the time series of the plan. */
  estimatedBytes: number;
}

export type Compilation = { ok: true; compiled: Compiled } | { ok: false; problems: Problem[] };

export interface Example { name: string; title: string; toml: string }

export interface SimulationOptions {
  /** Simulated seconds between two samples; replaces that of the plan. */
  sampleStep: number;
  /** Index of the link whose packets are reported. */
  tracePackets?: number;
  /** Start of what the summary measures, s: `Compiled.warmup`; by default 0. Only windows of the plan count whole. */
  measureFrom?: number;
  /** Flows (rows of the flow table) whose windows and rates are sampled; by default the first 16. */
  flows?: number[];
}

/** What happened to a packet at the traced link. */
export const PacketEvent = { enqueue: 0, dequeue: 1, drop: 2, mark: 3 } as const;

/** What is new since the last update. */
export interface Update {
  /** Simulated time, s. */
  now: number;
  events: number;
  /** Packets that have left the measured queues, all told. */
  packets: number;
  finished: boolean;
  /** Columns: t (s), queue (packets), sojourn (s, mean since the last sample; NaN without departures), drops and
   * marks (packets since the last sample), utilization (share since the last sample), and each probe by name. */
  links: { index: number; columns: Record<string, Float64Array> }[];
  /** Windows in packets (NaN if the flow has none) and rates in bit/s since the last sample, by flow. */
  flows: { t: Float64Array; cwnd: Record<number, Float64Array>; rate: Record<number, Float64Array> };
  /** At most 20000 a call; `missed` counts those that were left out. */
  packets_seen?: { link: number; t: Float64Array; flow: Int32Array; what: Uint8Array; missed: number };
}

/** The figures of a run, after the warm-up. */
export interface Summary {
  /** Simulated time at which the run ended, s. */
  ended: number;
  /** Start of what was measured, s. */
  measuredFrom: number;
  events: number;
  links: {
    index: number;
    name: string;
    /** Share of the capacity. */
    utilization: number;
    /** Time average, packets. */
    queueMean: number;
    /** s. */
    delayMean: number;
    delayP99: number;
    /** Shares of the packets that arrived. */
    dropped: number;
    marked: number;
  }[];
  groups: {
    index: number;
    name: string;
    flows: number;
    /** Sum over flows, bit/s. */
    goodput: number;
    retransmits: number;
    timeouts: number;
    /** Jain's index of the goodputs of its flows. */
    jain: number;
  }[];
}

/** What theory says of a scenario: the fluid model's first queue and first class of flows. */
export interface Theory {
  /** Why a part is missing, or all of them. */
  missing?: string;
  /** s; packets; packets of one flow; share of the packets that are marked or dropped. */
  fluid?: { t: Float64Array; queue: Float64Array; window: Float64Array; probability: Float64Array };
  /** At the end of the scenario; `rtt` in s. */
  equilibrium?: { queue: number; window: number; probability: number; rtt: number };
  /** The largest real part of a characteristic root, 1/s: the equilibrium is stable if it is below zero. */
  root?: number;
  /** The loop gain at frequencies in rad/s. */
  nyquist?: { real: Float64Array; imaginary: Float64Array; frequency: Float64Array };
  /** A factor, rad, s; infinite if no such change makes it unstable. Without meaning if it is not stable. */
  margins?: { gain: number; phase: number; delay: number; stable: boolean };
}
