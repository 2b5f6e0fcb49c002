//! Queue protection, step by step: qprotect(), pick_bucket() and fill_bucket() of RFC 9957, section 4.2, with their names. T_RES
//! is 1 ns, so times are integers of nanoseconds.

use marqueue_core::{math, Rng};

const BI_SIZE: u32 = 5;
const NBUCKETS: usize = 32;
const MASK: u32 = 31;
const ATTEMPTS: u32 = 2;
const QLSCORE_MAX: i64 = 5_000_000_000;

#[derive(Clone, Copy)]
struct Bucket {
    id: i64,
    t_exp: i64,
}

pub struct QProtect {
    buckets: [Bucket; NBUCKETS + 1],
    /// The salt of hash32(), which the RFC leaves open.
    salt: u64,
    pub lg_aging: i32,
    /// ns.
    pub critical_ql: i64,
    /// ns.
    pub critical_ql_score: i64,
    /// How often the bucket of flows without one was used.
    pub default_used: u64,
}

impl QProtect {
    pub fn new(rng: &mut Rng, lg_aging: i32, critical_ql: i64, critical_ql_score: i64) -> QProtect {
        QProtect {
            buckets: [Bucket { id: -1, t_exp: 0 }; NBUCKETS + 1],
            salt: rng.bits(),
            lg_aging,
            critical_ql,
            critical_ql_score,
            default_used: 0,
        }
    }

    fn hash32(&self, uflw: u32) -> u32 {
        let mut x = self.salt ^ u64::from(uflw);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) as u32
    }

    /// The score, and whether the packet is sanctioned.
    pub fn qprotect(&mut self, now: i64, uflw: u32, size: u32, qdelay: i64, prob_native: f64) -> (i64, bool) {
        let bckt_id = self.pick_bucket(now, uflw);
        let ql_score = self.fill_bucket(now, bckt_id, size, prob_native);
        let critical_ql_product = i128::from(self.critical_ql) * i128::from(self.critical_ql_score);
        let product = i128::from(qdelay) * i128::from(ql_score);
        if (qdelay > self.critical_ql && product > critical_ql_product) || ql_score >= QLSCORE_MAX {
            return (ql_score, true);
        }
        (ql_score, false)
    }

    fn pick_bucket(&mut self, now: i64, uflw: u32) -> usize {
        let mut h32 = self.hash32(uflw);
        let mut hsav = NBUCKETS;
        for _ in 0..ATTEMPTS {
            let h = (h32 & MASK) as usize;
            if self.buckets[h].id == i64::from(uflw) {
                if self.buckets[h].t_exp <= now {
                    self.buckets[h].t_exp = now;
                }
                return h;
            } else if hsav == NBUCKETS && self.buckets[h].t_exp <= now {
                hsav = h;
            }
            h32 >>= BI_SIZE;
        }
        if hsav != NBUCKETS {
            self.buckets[hsav].t_exp = now;
        } else {
            self.default_used += 1;
            if self.buckets[hsav].t_exp <= now {
                self.buckets[hsav].t_exp = now;
            }
        }
        self.buckets[hsav].id = i64::from(uflw);
        hsav
    }

    fn fill_bucket(&mut self, now: i64, bckt_id: usize, size: u32, prob_native: f64) -> i64 {
        // 1/AGING, with AGING = 2^(LG_AGING - 30) B/ns.
        let per_byte = math::powi(2.0, 30 - self.lg_aging);
        self.buckets[bckt_id].t_exp += (prob_native * f64::from(size) * per_byte) as i64;
        if self.buckets[bckt_id].t_exp - now > QLSCORE_MAX {
            self.buckets[bckt_id].t_exp = now + QLSCORE_MAX;
        }
        self.buckets[bckt_id].t_exp - now
    }
}
