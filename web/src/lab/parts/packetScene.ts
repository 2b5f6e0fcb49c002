// The packets of one queue, drawn: those that wait, those on the wire, and those that were dropped.

import { PacketEvent, type LinkInfo } from '../../engine/protocol';
import { paletteOf, type Palette } from '../../charts/palette';
import type { PacketsSeen, Speed } from '../state/run.svelte';

interface Packet { flow: number; marked: boolean }
interface Moving extends Packet { since: number; x: number }
interface Event { t: number; flow: number; what: number }

/** Milliseconds that a dropped packet is seen falling. */
const FALL = 700;
/** Packets on the wire and falling ones that are drawn; more would be a blur. */
const MOST = 400;
/** Milliseconds between two pictures for readers who want no motion. */
const STILL_EVERY = 600;
/** Seconds of the reader's time that the picture may be behind the run. */
const BEHIND = 1.5;

/** The flow of a packet that joined the queue unseen. */
const UNKNOWN = -1;

/** AQMs that drop packets from inside the queue, not only at its end. */
const FROM_INSIDE = /^(codel|choke|chokew|fq_codel|sfq|drr|wfq)/;

export class PacketScene {
  private queue: Packet[] = [];
  private wire: Moving[] = [];
  private falling: Moving[] = [];
  private events: Event[] = [];
  private clock = 0;
  private latest = 0;
  private last = 0;
  private palette: Palette;
  private readonly inside: boolean;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly link: LinkInfo | null, private readonly still: boolean) {
    this.palette = paletteOf(canvas);
    this.inside = FROM_INSIDE.test(link?.aqm ?? '');
  }

  restyle(): void {
    this.palette = paletteOf(this.canvas);
  }

  /** Takes what happened until `now`, when `queue` packets wait. */
  take(seen: PacketsSeen, now: number, queue: number): void {
    if (seen.missed > 0) {
      this.begin(now, queue);
      return;
    }
    for (let i = 0; i < seen.t.length; i++) this.events.push({ t: seen.t[i]!, flow: seen.flow[i]!, what: seen.what[i]! });
    this.latest = now;
  }

  /** Begins anew in the middle: whose packets wait is not known, so they are grey. */
  private begin(now: number, queue: number): void {
    this.queue = Array.from({ length: queue }, () => ({ flow: UNKNOWN, marked: false }));
    [this.wire, this.falling, this.events] = [[], [], []];
    this.clock = this.latest = now;
  }

  /** Draws the queue as it was at the scene's clock, which follows the run smoothly. */
  draw(time: number, speed: Speed, now: number): void {
    if (this.still && time - this.last < STILL_EVERY) return;
    const elapsed = Math.min(0.1, (time - this.last) / 1000);
    this.last = time;
    this.latest = Math.max(this.latest, now);
    this.advance(speed, elapsed);
    this.apply(time);
    this.paint(time);
  }

  private advance(speed: Speed, elapsed: number): void {
    if (speed === 'max' || this.still) this.clock = this.latest;
    else this.clock = Math.min(this.latest, Math.max(this.clock + elapsed * speed, this.latest - BEHIND * speed));
  }

  private apply(time: number): void {
    let done = 0;
    for (const event of this.events) {
      if (event.t > this.clock) break;
      this.happen(event, time);
      done += 1;
    }
    if (done > 0) this.events.splice(0, done);
    const delay = this.link?.delay ?? 0;
    this.wire = this.wire.filter((each) => this.clock - each.since < delay).slice(-MOST);
    this.falling = this.falling.filter((each) => time - each.since < FALL).slice(-MOST);
  }

  private happen({ t, flow, what }: Event, time: number): void {
    // Those that joined unseen are ahead of all others.
    const place = this.queue.findIndex((each) => each.flow === flow || each.flow === UNKNOWN);
    switch (what) {
      case PacketEvent.enqueue:
        this.queue.push({ flow, marked: false });
        break;
      case PacketEvent.dequeue:
        if (place >= 0) {
          const [packet] = this.queue.splice(place, 1);
          this.wire.push({ ...packet!, flow, since: t, x: 0 });
        }
        break;
      case PacketEvent.mark: {
        // The packet that was marked is the newest of its flow, or the one at the head.
        const found = this.inside ? this.queue[place] : this.queue.findLast((each) => each.flow === flow);
        if (found) found.marked = true;
        break;
      }
      case PacketEvent.drop: {
        const fromInside = this.inside && place >= 0;
        const x = fromInside ? place : this.queue.length;
        if (fromInside) this.queue.splice(place, 1);
        this.falling.push({ flow, marked: false, since: time, x });
      }
    }
  }

  private paint(time: number): void {
    const { canvas, palette } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const ratio = devicePixelRatio;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const draw = canvas.getContext('2d');
    if (!draw) return;
    draw.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw.clearRect(0, 0, width, height);
    const buffer = this.link?.bufferUnit === 'packets' ? (this.link.buffer ?? 0) : 0;
    const right = 0.72 * width;
    const slot = Math.min(14, (right - 8) / Math.max(this.queue.length, Math.min(buffer, 300), 20));
    const [top, tall] = [44, 40];
    draw.strokeStyle = palette.soft;
    draw.lineWidth = 1.5;
    if (buffer > 0) draw.strokeRect(right - Math.min(buffer, 300) * slot - 3, top - 4, Math.min(buffer, 300) * slot + 6, tall + 8);
    draw.beginPath();
    draw.moveTo(right + 8, top + tall / 2);
    draw.lineTo(width - 4, top + tall / 2);
    draw.stroke();
    this.queue.forEach((packet, i) => this.packet(draw, packet, right - (i + 1) * slot, top, slot, tall));
    const delay = this.link?.delay ?? 0;
    for (const packet of this.wire) {
      const share = delay > 0 ? (this.clock - packet.since) / delay : 1;
      if (!this.still) this.packet(draw, packet, right + 10 + share * (width - right - 26), top + 6, Math.max(slot, 6), tall - 12);
    }
    for (const packet of this.falling) {
      const share = (time - packet.since) / FALL;
      draw.globalAlpha = 1 - share;
      this.packet(draw, packet, Math.max(4, right - (packet.x + 1) * slot), top + tall + 8 + (this.still ? 0 : share * 40), Math.max(slot, 6), 16);
      draw.globalAlpha = 1;
    }
    draw.fillStyle = palette.ink;
    draw.font = '600 17px system-ui, sans-serif';
    draw.fillText(`${this.queue.length}${buffer > 0 ? ` of ${buffer}` : ''} packets wait`, 4, 22);
    draw.fillStyle = palette.soft;
    draw.font = '14px system-ui, sans-serif';
    draw.textAlign = 'right';
    draw.fillText(`${this.clock.toFixed(3)} s`, width - 4, 22);
    draw.textAlign = 'left';
  }

  private packet(draw: CanvasRenderingContext2D, { flow, marked }: Packet, x: number, y: number, slot: number, tall: number): void {
    const { series, ink, soft } = this.palette;
    const wide = Math.max(1, slot - (slot > 4 ? 1.5 : 0.5));
    draw.fillStyle = flow === UNKNOWN ? soft : series[flow % series.length]!;
    draw.fillRect(x, y, wide, tall);
    if (!marked) return;
    draw.strokeStyle = ink;
    draw.lineWidth = 2;
    draw.strokeRect(x, y, wide, tall);
  }
}
